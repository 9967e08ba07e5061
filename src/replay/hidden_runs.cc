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
  std::uint32_t alignment = 0;  // of the end that is not the free run's: the power of two
  Counts change;
};

class RunSearch {
 public:
  RunSearch(const Geometry& geometry, bitmap::ConstWords words, const state::MbGroup& shown)
      : geometry_(geometry) {
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

  [[nodiscard]] Piece piece(std::uint32_t of, std::uint32_t len, bool front) const {
    const ClusterRange& run = free_runs_[of];
    const std::uint32_t cut = front ? run.first + len : run.end() - len;
    Piece out;
    out.of = of;
    out.run = {front ? run.first : cut, len};
    out.alignment = len == run.count ? 31 : static_cast<std::uint32_t>(std::countr_zero(cut));
    const ClusterRange rest =
        front ? ClusterRange{cut, run.count - len} : ClusterRange{run.first, run.count - len};
    out.change = counts_of(rest) - counts_of(run);
    return out;
  }

  [[nodiscard]] std::optional<ClusterRange> find_one(const Counts& missing,
                                                     std::uint32_t clusters) const {
    std::optional<Piece> best;
    for (std::uint32_t of = 0; of < free_runs_.size(); ++of) {
      if (free_runs_[of].count < clusters) continue;
      for (const bool front : {true, false}) {
        const Piece p = piece(of, clusters, front);
        if (p.change == missing && (!best || p.alignment > best->alignment)) best = p;
      }
    }
    if (!best) return std::nullopt;
    return best->run;
  }

  // Pieces of `len` clusters and fewer that end where preallocations are cut. Coarser cuts when
  // there would be too many.
  [[nodiscard]] std::vector<Piece> pieces(std::uint32_t most) const {
    constexpr std::size_t kMost = 200'000;
    std::vector<Piece> out;
    for (std::uint32_t step = 1; step <= 4096; step *= 4) {
      out.clear();
      for (std::uint32_t of = 0; of < free_runs_.size() && out.size() <= kMost; ++of)
        add_pieces(of, most, step, out);
      if (out.size() <= kMost) break;
    }
    return out;
  }
  void add_pieces(std::uint32_t of, std::uint32_t most, std::uint32_t step,
                  std::vector<Piece>& out) const {
    const ClusterRange& run = free_runs_[of];
    const std::uint32_t longest = std::min(run.count, most - 1);
    for (std::uint32_t cut = (run.first / step + 1) * step; cut - run.first <= longest; cut += step)
      out.push_back(piece(of, cut - run.first, true));
    if (run.count < most && run.end() % step != 0) out.push_back(piece(of, run.count, true));
  }

  [[nodiscard]] bool find_two(const Counts& missing, std::uint32_t clusters,
                              std::vector<ClusterRange>& found) const {
    const std::vector<Piece> all = pieces(clusters);
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
        if (second.of <= first.of || aligned <= best) continue;
        best = aligned;
        found = {first.run, second.run};
      }
    }
    return best > 0;
  }

  const Geometry& geometry_;
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
                            const state::MbGroup& shown) {
  if (!is_possible(shown, geometry.clusters_per_group)) return {{}, false, 0};
  return RunSearch(geometry, words, shown).run();
}

}  // namespace e4r::replay
