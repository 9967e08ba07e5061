// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/hidden_runs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "state/buddy.h"

namespace e4r::replay {
namespace {

namespace bitmap = state::bitmap;

// A group's counters, or their changes: runs of free clusters, free clusters, chunks by order.
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

// A number that stands for Counts. The key of a sum is the sum of the keys, so two pieces can be
// found by their keys alone. Equal Counts have equal keys. As with a hash, different Counts may
// share a key.
using Key = std::uint64_t;

Key key_of(const Counts& c) {
  constexpr Key kOdd = 0x9e3779b97f4a7c15ULL;
  Key weight = kOdd;
  Key key = weight * static_cast<Key>(c.fragments);
  const auto add = [&](std::int64_t count) {
    weight = (weight ^ (weight >> 29)) * kOdd + 1;
    key += weight * static_cast<Key>(count);
  };
  add(c.free);
  for (const std::int32_t n : c.chunks) add(n);
  return key;
}

// A piece of a free run.
struct Piece {
  std::uint32_t of = 0;  // index of the free run
  ClusterRange run;
  std::uint32_t alignment = 0;  // of its end, log2; 31: the piece is the whole free run
  Key key = 0;                  // of the change that its use makes
};

class RunSearch {
 public:
  RunSearch(const Geometry& geometry, bitmap::ConstWords words, const state::MbGroup& shown,
            bitmap::ConstWords known_free)
      : geometry_(geometry), known_free_(known_free), middle_step_(cpu_prealloc(geometry)) {
    bitmap::for_each_clear_run(words, limit(), [this](std::uint32_t start, std::uint32_t end) {
      free_runs_.push_back({start, end - start});
      const Counts counts = counts_of(free_runs_.back());
      keys_.push_back(key_of(counts));
      there_ += counts;
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

  // The counters of one run of free clusters.
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

  // How using a piece of a free run changes the group's counters.
  [[nodiscard]] Counts change(std::uint32_t of, const ClusterRange& piece) const {
    const ClusterRange& run = free_runs_[of];
    Counts out = counts_of({run.first, piece.first - run.first});
    out += counts_of({piece.end(), run.end() - piece.end()});
    return out - counts_of(run);
  }

  [[nodiscard]] std::uint32_t alignment(std::uint32_t of, const ClusterRange& piece) const {
    const ClusterRange& run = free_runs_[of];
    if (piece.count == run.count) return 31;
    // An end with free clusters on both sides is as good as any other such end.
    const bool amid = piece.first > run.first && piece.end() < run.end();
    return static_cast<std::uint32_t>(std::countr_zero(amid ? middle_step_ : piece.end()));
  }

  [[nodiscard]] std::optional<ClusterRange> find_one(const Counts& missing,
                                                     std::uint32_t clusters) const {
    std::optional<ClusterRange> best;
    std::uint32_t best_alignment = 0;
    const auto look_at = [&](std::uint32_t of, std::uint32_t first) {
      const ClusterRange piece = {first, clusters};
      const std::uint32_t aligned = alignment(of, piece);
      if (change(of, piece) != missing || (best && aligned <= best_alignment) ||
          !can_be_hidden(piece))
        return;
      best = piece;
      best_alignment = aligned;
    };
    for (std::uint32_t of = 0; of < free_runs_.size(); ++of) {
      const ClusterRange& run = free_runs_[of];
      if (run.count < clusters) continue;
      look_at(of, run.first);
      look_at(of, run.end() - clusters);
      for_each_end(run, middle_step_, [&](std::uint32_t end) {
        if (end - run.first > clusters) look_at(of, end - clusters);
      });
    }
    return best;
  }

  [[nodiscard]] bool can_be_hidden(const ClusterRange& run) const {
    return known_free_.empty() || bitmap::all_clear(known_free_, run.first, run.count);
  }

  // Calls `look` with the multiples of a step within a free run.
  template <typename Look>
  void for_each_end(const ClusterRange& run, std::uint32_t step, Look&& look) const {
    for (std::uint32_t end = (run.first / step + 1) * step; end < run.end(); end += step) look(end);
  }

  // Pieces of at most `most` clusters that end where preallocations are cut. Considers fewer ends
  // if there would be too many.
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

  // `key`: of the counters of the rest of the free run.
  void add(std::uint32_t of, const ClusterRange& piece, Key key, std::vector<Piece>& out) const {
    if (can_be_hidden(piece)) out.push_back({of, piece, alignment(of, piece), key - keys_[of]});
  }
  [[nodiscard]] Key key_of_run(std::uint32_t first, std::uint32_t end) const {
    return key_of(counts_of({first, end - first}));
  }

  // Adds the pieces that begin behind a file.
  void add_behind_files(std::uint32_t of, std::uint32_t most, std::uint32_t step,
                        std::vector<Piece>& out) const {
    const ClusterRange& run = free_runs_[of];
    for_each_end(run, step, [&](std::uint32_t end) {
      if (end - run.first <= most)
        add(of, {run.first, end - run.first}, key_of_run(end, run.end()), out);
    });
    if (run.count <= most) add(of, run, 0, out);
  }

  // Adds the pieces in front of which a file is gone.
  void add_anywhere(std::uint32_t of, std::uint32_t most, std::vector<Piece>& out) const {
    const ClusterRange& run = free_runs_[of];
    // Keys of the part of the run before a piece, by its length.
    std::vector<Key> before(run.count);
    for (std::uint32_t len = 1; len < run.count; ++len)
      before[len] = key_of_run(run.first, run.first + len);
    const auto add_up_to = [&](std::uint32_t end, std::uint32_t longest) {
      const Key behind = key_of_run(end, run.end());
      for (std::uint32_t len = 1; len <= longest && len < end - run.first; ++len)
        add(of, {end - len, len}, before[end - len - run.first] + behind, out);
    };
    add_up_to(run.end(), most);
    for_each_end(run, middle_step_,
                 [&](std::uint32_t end) { add_up_to(end, std::min(most, middle_step_)); });
  }

  [[nodiscard]] bool find_two(const Counts& missing, std::uint32_t clusters,
                              std::vector<ClusterRange>& found) const {
    // Each piece changes the number of free runs by at most one.
    if (std::abs(missing.fragments) > 2) return false;
    const std::vector<Piece> all = pieces(clusters - 1);
    std::unordered_multimap<Key, const Piece*> by_key(all.size());
    for (const Piece& p : all) by_key.emplace(p.key, &p);
    const Key key = key_of(missing);
    std::uint32_t best = 0;
    for (const Piece& first : all) {
      const auto [begin, end] = by_key.equal_range(key - first.key);
      int looked = 0;
      for (auto it = begin; it != end && looked < 64; ++it, ++looked) {
        const Piece& second = *it->second;
        const std::uint32_t aligned = std::min(first.alignment, second.alignment) + 1;
        if (second.of <= first.of || aligned < best) continue;
        // Takes the lowest among equals, because a search finds it first.
        if (aligned == best && !(found[0] == first.run && second.run.first < found[1].first))
          continue;
        Counts both = change(first.of, first.run);
        if ((both += change(second.of, second.run)) != missing) continue;
        best = aligned;
        found = {first.run, second.run};
      }
    }
    return best > 0;
  }

  const Geometry& geometry_;
  bitmap::ConstWords known_free_;
  // Preallocations with free clusters on both sides end at multiples of this.
  std::uint32_t middle_step_;
  std::vector<ClusterRange> free_runs_;
  std::vector<Key> keys_;  // by free run
  Counts there_;           // the bitmap's counters
  Counts wanted_;          // the counters to explain
};

// Whether a group of so many clusters can have these counters. Bounds the arithmetic on them.
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
