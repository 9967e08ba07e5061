// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/hidden_tails.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "replay/group_counts.h"

namespace e4r::replay {
namespace {

namespace bitmap = state::bitmap;

// A step is an aligned part of the group. It has cpu_prealloc() clusters, and its last clusters may
// be hidden. Cluster numbers count from the beginning of the step.
struct Step {
  std::uint32_t start = 0;                // first cluster of the step, in the group
  std::uint32_t free_from = 0;            // the clusters from here to the end are free on disk
  std::uint32_t lowest = 0, highest = 0;  // bounds of the first hidden cluster
  bool required = false;

  // The first hidden cluster while it is being chosen, bit by bit from the highest bit down.
  std::uint32_t chosen = 0;
  bool has_parted = false;  // `chosen` already differs from `free_from`
};

// Finds steps with hidden clusters that explain a group's counters. In such a step, the buddy keeps
// the free clusters before the hidden ones in chunks smaller than the step. So the counters of the
// small orders are sums over the steps, and they determine the bits of each step's first hidden
// cluster. The counters of the large orders depend only on which steps are entirely free.
class TailSearch {
 public:
  TailSearch(const Geometry& geometry, bitmap::ConstWords words, const state::MbGroup& shown,
             const FreeEvidence& evidence)
      : geometry_(geometry),
        words_(words.begin(), words.end()),
        size_(cpu_prealloc(geometry)),
        orders_(static_cast<std::uint32_t>(std::countr_zero(size_))),
        wanted_(counts_of(shown)) {
    const std::uint32_t steps = geometry.clusters_per_group / size_;
    for (std::uint32_t i = 0; i < steps; ++i) add_step(i * size_, evidence);
  }

  std::vector<std::vector<ClusterRange>> run() {
    if (!std::has_single_bit(size_)) return {};
    constexpr std::size_t kMostFurther = 4;
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].required) taken.push_back(i);
    for (std::size_t further = 0; further <= kMostFurther && answers_.empty() && !has_given_up();
         ++further) {
      tried_ = 0;
      choose_steps(taken, further, 0);
    }
    return std::move(answers_);
  }

 private:
  // These limits keep the time for a group below a tenth of a second.
  static constexpr std::uint64_t kMostTries = 300'000;   // tried bits, in total
  static constexpr std::uint64_t kMostChoices = 20'000;  // choices of further steps, in total
  static constexpr int kMostSets = 64;  // sets of steps, for each number of further steps

  [[nodiscard]] bool has_given_up() const { return tries_ > kMostTries || choices_ > kMostChoices; }

  void add_step(std::uint32_t start, const FreeEvidence& evidence) {
    Step step;
    step.start = start;
    const auto is_free = [&](std::uint32_t at) { return !bitmap::test(words_, start + at); };
    const auto is_known = [&](std::uint32_t at) {
      return !evidence.known_free.empty() && bitmap::test(evidence.known_free, start + at);
    };
    std::uint32_t from = size_;
    while (from > 0 && is_free(from - 1)) --from;
    step.free_from = from;
    for (from = size_; from > step.free_from && !is_known(from - 1);) --from;
    step.lowest = from;
    step.highest = size_ - 1;
    if (step.lowest > step.highest) return;
    for (const ClusterRange& part : evidence.not_all_free) {
      if (part.first < start || part.end() > start + size_) continue;
      step.required = true;
      step.highest = std::min(step.highest, part.end() - 1 - start);
    }
    if (step.lowest <= step.highest) steps_.push_back(step);
  }

  // Adds `further` more steps, from index `from` on, to the steps in `taken`. Like the functions
  // below, returns whether enough answers have been found.
  bool choose_steps(std::vector<std::size_t>& taken, std::size_t further, std::size_t from) {
    if (further == 0) return try_steps(taken);
    for (std::size_t i = from; i + further <= steps_.size(); ++i) {
      if (++choices_ > kMostChoices || tried_ > kMostSets) return false;
      if (steps_[i].required) continue;
      taken.push_back(i);
      const bool found = choose_steps(taken, further - 1, i + 1);
      taken.pop_back();
      if (found) return true;
    }
    return false;
  }

  bool try_steps(const std::vector<std::size_t>& taken) {
    if (taken.empty()) return false;
    // Marks the free clusters at the end of all taken steps as in use.
    std::vector<std::uint64_t> words = words_;
    for (const std::size_t i : taken)
      bitmap::set_range(words, steps_[i].start + steps_[i].free_from, size_ - steps_[i].free_from);
    const GroupCounts rest = counts_of(geometry_, words);
    for (std::size_t k = 0; k < wanted_.chunks.size(); ++k) {
      missing_[k] = wanted_.chunks[k] - rest.chunks[k];
      if (missing_[k] < 0 || (k >= orders_ && missing_[k] != 0)) return false;
    }
    if (++tried_ > kMostSets) return false;
    chosen_.clear();
    for (const std::size_t i : taken) {
      chosen_.push_back(steps_[i]);
      chosen_.back().chosen = 0;
      chosen_.back().has_parted = false;
    }
    return choose_bits(orders_, 0);
  }

  // Chooses the first hidden cluster of each chosen step, bit by bit. For the steps from index `at`
  // on, chooses bit `order - 1`. Then chooses the lower bits for all steps.
  bool choose_bits(std::uint32_t order, std::size_t at) {
    if (++tries_ > kMostTries) return false;
    if (order == 0) return add_if_answer();
    const std::uint32_t k = order - 1;
    if (at == chosen_.size()) return missing_[k] == 0 && choose_bits(k, 0);
    for (const bool bit : {true, false}) {
      const Step before = chosen_[at];
      const auto missing = missing_;
      if (choose_bit(chosen_[at], k, bit) && choose_bits(order, at + 1)) return true;
      chosen_[at] = before;
      missing_ = missing;
    }
    return false;
  }

  // Chooses bit `k` of a step's first hidden cluster. Returns false if that leads out of the step's
  // bounds, or if it would produce more chunks than are missing.
  bool choose_bit(Step& step, std::uint32_t k, bool bit) {
    const std::uint32_t size = 1u << k;
    if (bit) step.chosen |= size;
    if (step.chosen > step.highest || step.chosen + size - 1 < step.lowest) return false;
    if (!bit) return true;
    if (step.has_parted) return --missing_[k] >= 0;
    if ((step.free_from & size) != 0) return true;
    // The first hidden cluster is now certainly after `free_from`, so all clusters up to `chosen`
    // stay free.
    step.has_parted = true;
    const GroupCounts between =
        counts_of(geometry_, {step.free_from, step.chosen - step.free_from});
    for (std::size_t i = 0; i < orders_; ++i)
      if ((missing_[i] -= between.chunks[i]) < 0) return false;
    return true;
  }

  bool add_if_answer() {
    std::vector<std::uint64_t> words = words_;
    std::vector<ClusterRange> answer;
    for (const Step& step : chosen_) {
      const ClusterRange run = {step.start + step.chosen, size_ - step.chosen};
      bitmap::set_range(words, run.first, run.count);
      answer.push_back(run);
    }
    if (counts_of(geometry_, words) != wanted_) return false;
    std::ranges::sort(answer, {}, &ClusterRange::first);
    answers_.push_back(std::move(answer));
    return answers_.size() == HiddenRuns::kMostAnswers;
  }

  const Geometry& geometry_;
  std::vector<std::uint64_t> words_;
  std::uint32_t size_,
      orders_;  // clusters of a step, and the number of orders whose chunks are smaller than a step
  GroupCounts wanted_;
  std::vector<Step> steps_, chosen_;
  std::array<std::int32_t, state::MbGroup::kOrders> missing_ = {};
  std::uint64_t tries_ = 0, choices_ = 0;
  int tried_ = 0;
  std::vector<std::vector<ClusterRange>> answers_;
};

}  // namespace

std::vector<std::vector<ClusterRange>> find_hidden_tails(const Geometry& geometry,
                                                         bitmap::ConstWords words,
                                                         const state::MbGroup& shown,
                                                         const FreeEvidence& evidence) {
  return TailSearch(geometry, words, shown, evidence).run();
}

}  // namespace e4r::replay
