// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/hidden_runs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/group_counts.h"
#include "replay/hidden_tails.h"
#include "state/buddy.h"

namespace e4r::replay {
namespace {

namespace bitmap = state::bitmap;

using Counts = GroupCounts;

// A hash of Counts. The key of a sum is the sum of the keys, so two pieces that together explain
// the counters can be found by their keys. Different Counts may have the same key.
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
  std::uint32_t alignment = 0;  // log2 of the alignment of its end; 31: the whole free run
  Key key = 0;  // key of the change in the counters when the piece is marked as in use
};

class RunSearch {
 public:
  RunSearch(const Geometry& geometry, bitmap::ConstWords words, const state::MbGroup& shown,
            const FreeEvidence& evidence)
      : geometry_(geometry),
        words_(words),
        shown_(shown),
        evidence_(evidence),
        wanted_(replay::counts_of(shown)),
        middle_step_(cpu_prealloc(geometry)) {
    // A range that contains clusters in use in the bitmap needs no further explanation.
    std::erase_if(evidence_.not_all_free, [&](const ClusterRange& part) {
      return !bitmap::all_clear(words, part.first, part.count);
    });
    bitmap::for_each_clear_run(words, limit(), [this](std::uint32_t start, std::uint32_t end) {
      free_runs_.push_back({start, end - start});
      const Counts counts = counts_of(free_runs_.back());
      keys_.push_back(key_of(counts));
      there_ += counts;
    });
  }

  HiddenRuns run() {
    const Counts missing = wanted_ - there_;
    HiddenRuns out;
    if (missing == Counts{}) return out;
    const auto clusters = static_cast<std::uint32_t>(std::max<std::int64_t>(-missing.free, 0));
    Answers answers;
    if (clusters > 0) {
      find_one(missing, clusters, answers);
      if (falls_short(answers)) find_two(missing, clusters, answers);
      if (falls_short(answers) && is_seen()) find_tails(answers);
    }
    out.answers = answers.take_runs();
    out.explained = !out.answers.empty();
    if (!out.explained) out.not_found = clusters;
    return out;
  }

 private:
  // The rank of an answer that explains the counters. Higher is better; members are compared in
  // order.
  struct Rank {
    std::size_t in_parts = 0;  // parts of FreeEvidence::not_all_free that the runs touch
    enum class Kind : std::uint8_t { several, in_different_runs, one } kind = Kind::several;
    std::uint32_t alignment = 0;  // the alignment of the least aligned end

    friend bool operator==(const Rank&, const Rank&) = default;
    [[nodiscard]] bool is_better_than(const Rank& other) const {
      return std::tie(in_parts, kind, alignment) >
             std::tie(other.in_parts, other.kind, other.alignment);
    }
  };
  // The best answers, best first.
  class Answers {
   public:
    void take(const Rank& rank, std::vector<ClusterRange> runs) {
      if (!wants(rank)) return;
      // If two answers have equal ranks and equal first runs, the one whose second run is lower
      // comes first. Other answers with equal ranks are in the order in which they were found.
      const auto is_behind = [&](const Answer& other) {
        const bool is_lower = runs.size() == 2 && other.runs.size() == 2 &&
                              runs[0] == other.runs[0] && runs[1].first < other.runs[1].first;
        return rank.is_better_than(other.rank) || (rank == other.rank && is_lower);
      };
      const auto place = std::ranges::find_if(answers_, is_behind);
      answers_.insert(place, {rank, std::move(runs)});
      if (answers_.size() > HiddenRuns::kMostAnswers) answers_.pop_back();
    }
    [[nodiscard]] bool wants(const Rank& rank) const {
      return answers_.size() < HiddenRuns::kMostAnswers ||
             !answers_.back().rank.is_better_than(rank);
    }
    [[nodiscard]] bool empty() const { return answers_.empty(); }
    [[nodiscard]] std::size_t in_parts() const { return answers_.front().rank.in_parts; }
    [[nodiscard]] std::vector<std::vector<ClusterRange>> take_runs() {
      std::vector<std::vector<ClusterRange>> out;
      out.reserve(answers_.size());
      for (Answer& answer : answers_) out.push_back(std::move(answer.runs));
      return out;
    }

   private:
    struct Answer {
      Rank rank;
      std::vector<ClusterRange> runs;
    };
    std::vector<Answer> answers_;
  };

  // Whether the trace contains evidence about the group. Without such evidence, no decision depends
  // on the position of the group's hidden runs.
  [[nodiscard]] bool is_seen() const {
    return !evidence_.not_all_free.empty() ||
           std::ranges::any_of(evidence_.known_free, [](std::uint64_t word) { return word != 0; });
  }

  // Whether there is no answer, or the best one leaves evidence of the trace unexplained.
  [[nodiscard]] bool falls_short(const Answers& answers) const {
    return answers.empty() || answers.in_parts() < evidence_.not_all_free.size();
  }

  [[nodiscard]] std::size_t parts_with(std::span<const ClusterRange> runs) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(evidence_.not_all_free, [&](const ClusterRange& part) {
          return std::ranges::any_of(runs, [&](const ClusterRange& run) {
            return run.first < part.end() && part.first < run.end();
          });
        }));
  }

  [[nodiscard]] std::uint32_t limit() const { return geometry_.clusters_per_group; }

  [[nodiscard]] Counts counts_of(const ClusterRange& run) const {
    return replay::counts_of(geometry_, run);
  }

  // How the group's counters change if pieces of a free run are in use. `pieces` must be in
  // ascending order.
  [[nodiscard]] Counts change(std::uint32_t of, std::span<const ClusterRange> pieces) const {
    const ClusterRange& run = free_runs_[of];
    Counts out;
    std::uint32_t from = run.first;
    for (const ClusterRange& piece : pieces) {
      out += counts_of({from, piece.first - from});
      from = piece.end();
    }
    out += counts_of({from, run.end() - from});
    return out - counts_of(run);
  }
  [[nodiscard]] Counts change(std::uint32_t of, const ClusterRange& piece) const {
    return change(of, std::span(&piece, 1));
  }

  [[nodiscard]] std::uint32_t alignment(std::uint32_t of, const ClusterRange& piece) const {
    const ClusterRange& run = free_runs_[of];
    if (piece.count == run.count) return 31;
    // All pieces with free clusters on both sides get the same alignment.
    const bool amid = piece.first > run.first && piece.end() < run.end();
    return static_cast<std::uint32_t>(std::countr_zero(amid ? middle_step_ : piece.end()));
  }

  void find_one(const Counts& missing, std::uint32_t clusters, Answers& answers) const {
    const auto look_at = [&](std::uint32_t of, std::uint32_t first) {
      const ClusterRange piece = {first, clusters};
      if (change(of, piece) != missing || !can_be_hidden(piece)) return;
      answers.take({parts_with(std::span(&piece, 1)), Rank::Kind::one, alignment(of, piece)},
                   {piece});
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
  }

  [[nodiscard]] bool can_be_hidden(const ClusterRange& run) const {
    return evidence_.known_free.empty() ||
           bitmap::all_clear(evidence_.known_free, run.first, run.count);
  }

  // Calls `look` with each multiple of `step` inside a free run.
  template <typename Look>
  void for_each_end(const ClusterRange& run, std::uint32_t step, Look&& look) const {
    for (std::uint32_t end = (run.first / step + 1) * step; end < run.end(); end += step) look(end);
  }

  // Pieces of at most `most` clusters that end where preallocations may end. Considers fewer ends
  // if there would be too many pieces.
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

  // Adds the piece if it can be hidden. `key` is the key of the free run's counters without the
  // piece.
  void add(std::uint32_t of, const ClusterRange& piece, Key key, std::vector<Piece>& out) const {
    if (can_be_hidden(piece)) out.push_back({of, piece, alignment(of, piece), key - keys_[of]});
  }
  [[nodiscard]] Key key_of_run(std::uint32_t first, std::uint32_t end) const {
    return key_of(counts_of({first, end - first}));
  }

  // Adds the pieces that begin right after a file.
  void add_behind_files(std::uint32_t of, std::uint32_t most, std::uint32_t step,
                        std::vector<Piece>& out) const {
    const ClusterRange& run = free_runs_[of];
    for_each_end(run, step, [&](std::uint32_t end) {
      if (end - run.first <= most)
        add(of, {run.first, end - run.first}, key_of_run(end, run.end()), out);
    });
    if (run.count <= most) add(of, run, 0, out);
  }

  // Adds the pieces that may follow a deleted file.
  void add_anywhere(std::uint32_t of, std::uint32_t most, std::vector<Piece>& out) const {
    const ClusterRange& run = free_runs_[of];
    // The key of the first `len` clusters of the run, indexed by `len`.
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

  void find_tails(Answers& answers) const {
    for (auto& tails : find_hidden_tails(geometry_, words_, shown_, evidence_)) {
      const Rank rank = {parts_with(tails), Rank::Kind::several, 0};
      answers.take(rank, std::move(tails));
    }
  }

  void find_two(const Counts& missing, std::uint32_t clusters, Answers& answers) const {
    // Each piece changes the number of free runs by at most one.
    if (clusters < 2 || std::abs(missing.fragments) > 2) return;
    find_two_in_different_runs(missing, clusters, answers);
    for (std::uint32_t of = 0; of < free_runs_.size(); ++of)
      if (free_runs_[of].count > clusters) find_two_in_one_run(of, missing, clusters, answers);
  }

  void find_two_in_different_runs(const Counts& missing, std::uint32_t clusters,
                                  Answers& answers) const {
    const std::vector<Piece> all = pieces(clusters - 1);
    std::unordered_multimap<Key, const Piece*> by_key(all.size());
    for (const Piece& p : all) by_key.emplace(p.key, &p);
    const Key key = key_of(missing);
    for (const Piece& first : all) {
      const auto [begin, end] = by_key.equal_range(key - first.key);
      int looked = 0;
      for (auto it = begin; it != end && looked < 64; ++it, ++looked) {
        const Piece& second = *it->second;
        if (second.of <= first.of) continue;
        const std::array runs = {first.run, second.run};
        const Rank rank = {parts_with(runs), Rank::Kind::in_different_runs,
                           std::min(first.alignment, second.alignment)};
        if (!answers.wants(rank)) continue;
        Counts both = change(first.of, first.run);
        if ((both += change(second.of, second.run)) != missing) continue;
        answers.take(rank, {first.run, second.run});
      }
    }
  }

  // Finds answers with two pieces in the same free run. The change in the number of free runs shows
  // where each of them is: at the beginning, in the middle, or at the end.
  void find_two_in_one_run(std::uint32_t of, const Counts& missing, std::uint32_t clusters,
                           Answers& answers) const {
    const ClusterRange& run = free_runs_[of];
    const auto look_at = [&](const ClusterRange& first, const ClusterRange& second) {
      const std::array runs = {first, second};
      if (first.end() >= second.first || change(of, runs) != missing || !can_be_hidden(first) ||
          !can_be_hidden(second))
        return;
      answers.take({parts_with(runs), Rank::Kind::several,
                    std::min(alignment(of, first), alignment(of, second))},
                   {first, second});
    };
    const auto head = [&](std::uint32_t count) { return ClusterRange{run.first, count}; };
    const auto tail = [&](std::uint32_t count) { return ClusterRange{run.end() - count, count}; };
    // Calls `look` with each piece of `count` clusters in the middle of the run.
    const auto for_each_amid = [&](std::uint32_t count, const auto& look) {
      for_each_end(run, middle_step_, [&](std::uint32_t end) {
        if (end - run.first > count) look(ClusterRange{end - count, count});
      });
    };
    if (missing.fragments == 0)
      for (std::uint32_t count = 1; count < clusters; ++count)
        look_at(head(count), tail(clusters - count));
    const std::uint32_t longest = std::min(clusters - 1, middle_step_);
    if (missing.fragments == 1)
      for (std::uint32_t count = 1; count <= longest; ++count)
        for_each_amid(count, [&](const ClusterRange& amid) {
          look_at(head(clusters - count), amid);
          look_at(amid, tail(clusters - count));
        });
    if (missing.fragments == 2 && clusters <= 2 * middle_step_)
      for (std::uint32_t count = clusters - std::min(clusters - 1, middle_step_); count <= longest;
           ++count)
        if (could_be_amid(run, missing, count, clusters - count))
          for_each_amid(count, [&](const ClusterRange& first) {
            for_each_amid(clusters - count,
                          [&](const ClusterRange& second) { look_at(first, second); });
          });
  }

  // Whether two pieces of `count` and `other` clusters in the middle of a free run can produce the
  // change. Such a piece produces the same small chunks in every whole step of the run, so most
  // lengths can be rejected without trying each position.
  [[nodiscard]] bool could_be_amid(const ClusterRange& run, const Counts& missing,
                                   std::uint32_t count, std::uint32_t other) const {
    const std::uint32_t first_step = (run.first + middle_step_ - 1) / middle_step_ * middle_step_;
    // A piece in a step that the run covers only in part produces other chunks.
    if (first_step != run.first && first_step - run.first > std::min(count, other)) return true;
    Counts small = counts_of({0, middle_step_ - count});
    small += counts_of({0, middle_step_ - other});
    const auto orders = static_cast<std::size_t>(std::countr_zero(middle_step_));
    return std::equal(small.chunks.begin(),
                      small.chunks.begin() + static_cast<std::ptrdiff_t>(orders),
                      missing.chunks.begin());
  }

  const Geometry& geometry_;
  bitmap::ConstWords words_;
  const state::MbGroup& shown_;
  FreeEvidence evidence_;
  Counts wanted_;  // the counters to explain
  // Preallocations with free clusters on both sides end at multiples of this number.
  std::uint32_t middle_step_;
  std::vector<ClusterRange> free_runs_;
  std::vector<Key> keys_;  // one per free run
  Counts there_;           // the bitmap's counters
};

// Whether a group of `clusters` clusters can have these counters. Prevents overflow in the
// arithmetic on them.
bool is_possible(const state::MbGroup& shown, std::uint32_t clusters) {
  const auto most = *std::max_element(shown.counters.begin(), shown.counters.end());
  return std::max({shown.free, shown.fragments, most}) <= clusters;
}

}  // namespace

HiddenRuns find_hidden_runs(const Geometry& geometry, bitmap::ConstWords words,
                            const state::MbGroup& shown, const FreeEvidence& evidence) {
  if (!is_possible(shown, geometry.clusters_per_group)) return {{}, false, 0};
  return RunSearch(geometry, words, shown, evidence).run();
}

}  // namespace e4r::replay
