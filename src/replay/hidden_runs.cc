// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/hidden_runs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <unordered_map>

#include "state/buddy.h"

namespace e4r::replay {
namespace {

namespace bitmap = state::bitmap;

// How a group's counters change, or are: runs of free clusters, free clusters, chunks by order.
struct Counts {
  std::int64_t fragments = 0;
  std::int64_t free = 0;
  std::array<std::int32_t, state::MbGroup::kOrders> chunks = {};

  friend bool operator==(const Counts&, const Counts&) = default;
  Counts& operator+=(const Counts& o) {
    fragments += o.fragments;
    free += o.free;
    for (std::size_t i = 0; i < chunks.size(); ++i) chunks[i] += o.chunks[i];
    return *this;
  }
  Counts operator-(const Counts& o) const {
    Counts out = *this;
    out.fragments -= o.fragments;
    out.free -= o.free;
    for (std::size_t i = 0; i < chunks.size(); ++i) out.chunks[i] -= o.chunks[i];
    return out;
  }
};

struct HashCounts {
  std::size_t operator()(const Counts& c) const {
    std::uint64_t h =
        static_cast<std::uint64_t>(c.fragments) * 31 + static_cast<std::uint64_t>(c.free);
    for (const std::int32_t n : c.chunks)
      h = (h ^ static_cast<std::uint64_t>(n)) * 0x9e3779b97f4a7c15ULL;
    return h;
  }
};

// A piece of a free run, and what its use changes.
struct Piece {
  std::uint32_t of = 0;  // which free run
  ClusterRange run;
  std::uint32_t alignment = 0;  // of its end: the power of two; 31: all of the free run
  Counts change;
};

class RunSearch {
 public:
  RunSearch(const Geometry& geometry, bitmap::ConstWords words, const state::MbGroup& shown,
            bitmap::ConstWords known_free)
      : geometry_(geometry),
        known_free_(known_free),
        // A CPU's has that many clusters unless mb_group_prealloc is set, and is cut from a chunk
        // of as many (6.1: MB_DEFAULT_GROUP_PREALLOC, ext4_mb_init).
        middle_step_(std::max(512u >> geometry.cluster_bits, 32u)) {
    bitmap::for_each_clear_run(words, limit(), [this](std::uint32_t start, std::uint32_t end) {
      free_runs_.push_back({start, end - start});
      there_ += counts_of({start, end - start});
    });
    wanted_.fragments = shown.fragments;
    wanted_.free = shown.free;
    for (std::size_t i = 0; i < state::MbGroup::kOrders; ++i)
      wanted_.chunks[i] = static_cast<std::int32_t>(shown.counters[i]);
  }

  HiddenRuns run() {
    const Counts missing = wanted_ - there_;
    HiddenRuns out;
    if (missing == Counts{}) return out;
    const std::int64_t clusters = -missing.free;
    if (clusters > 0) {
      if (const auto one = find_one(missing, static_cast<std::uint32_t>(clusters))) {
        out.runs = {*one};
        return out;
      }
      if (find_two(missing, static_cast<std::uint32_t>(clusters), out.runs)) return out;
    }
    out.explained = false;
    out.not_found = static_cast<std::uint32_t>(std::max<std::int64_t>(clusters, 0));
    return out;
  }

 private:
  [[nodiscard]] std::uint32_t limit() const { return geometry_.clusters_per_group; }

  // Of one run of free clusters.
  [[nodiscard]] Counts counts_of(const ClusterRange& run) const {
    Counts out;
    if (run.count == 0) return out;
    out.fragments = 1;
    out.free = run.count;
    state::OrderCounters chunks = {};
    state::count_chunks(chunks, geometry_.orders(), run.first, run.count, 1);
    for (std::size_t i = 0; i < out.chunks.size(); ++i)
      out.chunks[i] = static_cast<std::int32_t>(chunks[i]);
    return out;
  }

  [[nodiscard]] Piece piece(std::uint32_t of, std::uint32_t first, std::uint32_t len) const {
    const ClusterRange& run = free_runs_[of];
    Piece out;
    out.of = of;
    out.run = {first, len};
    out.alignment = static_cast<std::uint32_t>(std::countr_zero(out.run.end()));
    if (len == run.count) {
      out.alignment = 31;
    } else if (first > run.first && out.run.end() < run.end()) {
      // One such end is as good as another.
      out.alignment = static_cast<std::uint32_t>(std::countr_zero(middle_step_));
    }
    out.change = counts_of({run.first, first - run.first});
    out.change += counts_of({out.run.end(), run.end() - out.run.end()});
    out.change = out.change - counts_of(run);
    return out;
  }

  [[nodiscard]] std::optional<ClusterRange> find_one(const Counts& missing,
                                                     std::uint32_t clusters) const {
    std::optional<Piece> best;
    const auto look_at = [&](const Piece& p) {
      if (p.change == missing && (!best || p.alignment > best->alignment) && can_be_hidden(p.run))
        best = p;
    };
    for (std::uint32_t of = 0; of < free_runs_.size(); ++of) {
      const ClusterRange& run = free_runs_[of];
      if (run.count < clusters) continue;
      look_at(piece(of, run.first, clusters));
      look_at(piece(of, run.end() - clusters, clusters));
      for_each_end(run, middle_step_, [&](std::uint32_t end) {
        if (end - run.first > clusters) look_at(piece(of, end - clusters, clusters));
      });
    }
    if (!best) return std::nullopt;
    return best->run;
  }

  [[nodiscard]] bool can_be_hidden(const ClusterRange& run) const {
    return known_free_.empty() || bitmap::all_clear(known_free_, run.first, run.count);
  }

  // The multiples of a step within a free run.
  template <typename Look>
  void for_each_end(const ClusterRange& run, std::uint32_t step, Look&& look) const {
    for (std::uint32_t end = (run.first / step + 1) * step; end < run.end(); end += step) look(end);
  }

  // Pieces of at most `most` clusters that end where preallocations are cut. Fewer ends when there
  // would be too many.
  [[nodiscard]] std::vector<Piece> pieces(std::uint32_t most) const {
    constexpr std::size_t kMost = 200'000;
    std::vector<Piece> out;
    const auto fill = [&](std::uint32_t step, bool anywhere) {
      out.clear();
      for (std::uint32_t of = 0; of < free_runs_.size() && out.size() <= kMost; ++of) {
        add_behind_files(of, most, step, out);
        if (anywhere) add_anywhere(of, most, out);
      }
      return out.size() <= kMost;
    };
    if (fill(1, true)) return out;
    for (std::uint32_t step = 1; step <= 4096 && !fill(step, false);) step *= 4;
    return out;
  }

  void add(std::uint32_t of, const ClusterRange& run, std::vector<Piece>& out) const {
    if (can_be_hidden(run)) out.push_back(piece(of, run.first, run.count));
  }

  // Those that begin behind a file.
  void add_behind_files(std::uint32_t of, std::uint32_t most, std::uint32_t step,
                        std::vector<Piece>& out) const {
    const ClusterRange& run = free_runs_[of];
    for_each_end(run, step, [&](std::uint32_t end) {
      if (end - run.first <= most) add(of, {run.first, end - run.first}, out);
    });
    if (run.count <= most) add(of, run, out);
  }

  // Those before which a file is gone.
  void add_anywhere(std::uint32_t of, std::uint32_t most, std::vector<Piece>& out) const {
    const ClusterRange& run = free_runs_[of];
    const auto add_up_to = [&](std::uint32_t end, std::uint32_t longest) {
      for (std::uint32_t len = 1; len <= longest && len < end - run.first; ++len)
        add(of, {end - len, len}, out);
    };
    add_up_to(run.end(), most);
    for_each_end(run, middle_step_,
                 [&](std::uint32_t end) { add_up_to(end, std::min(most, middle_step_)); });
  }

  [[nodiscard]] bool find_two(const Counts& missing, std::uint32_t clusters,
                              std::vector<ClusterRange>& found) const {
    const std::vector<Piece> all = pieces(clusters - 1);
    std::unordered_multimap<Counts, const Piece*, HashCounts> by_change;
    by_change.reserve(all.size());
    for (const Piece& p : all) by_change.emplace(p.change, &p);
    std::uint32_t best = 0;
    for (const Piece& first : all) {
      const auto [begin, end] = by_change.equal_range(missing - first.change);
      int looked = 0;
      for (auto it = begin; it != end && looked < 64; ++it, ++looked) {
        const Piece& second = *it->second;
        const std::uint32_t aligned = std::min(first.alignment, second.alignment) + 1;
        if (second.of <= first.of || aligned < best) continue;
        // Of equals the lowest: that is where a search comes first.
        if (aligned == best && !(found[0] == first.run && second.run.first < found[1].first))
          continue;
        best = aligned;
        found = {first.run, second.run};
      }
    }
    return best > 0;
  }

  const Geometry& geometry_;
  bitmap::ConstWords known_free_;
  std::uint32_t middle_step_;  // where preallocations with free clusters on both sides end
  std::vector<ClusterRange> free_runs_;
  Counts there_;   // what the bitmap has
  Counts wanted_;  // what is shown
};

// A group of so many clusters can have these figures; bounds what is reckoned with them.
bool is_possible(const state::MbGroup& shown, std::uint32_t clusters) {
  const auto most = *std::max_element(shown.counters.begin(), shown.counters.end());
  return std::max({shown.free, shown.fragments, most}) <= clusters;
}

}  // namespace

HiddenRuns find_hidden_runs(const Geometry& geometry, bitmap::ConstWords words,
                            const state::MbGroup& shown, bitmap::ConstWords known_free) {
  if (!is_possible(shown, geometry.clusters_per_group)) return {{}, false, 0};
  return RunSearch(geometry, words, shown, known_free).run();
}

}  // namespace e4r::replay
