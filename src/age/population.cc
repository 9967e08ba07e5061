// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/population.h"

#include <algorithm>

namespace e4r::age {
namespace {

// How many candidates are looked at to find the file that goes.
constexpr int kCandidates = 8;

// Each file is born with a strength of its own. If the files that go were drawn evenly from their
// step of ages, hardly any file would reach the next step: many more files are born than stay.
std::uint64_t frailty(std::uint64_t birth) {
  return Rng(birth).next();
}

}  // namespace

Population::Population(const std::vector<Step>& ages) : shares_(ages) {
  double all = 0;
  for (const Step& step : shares_) all += step.weight;
  for (Step& step : shares_) {
    step.limit /= ages.back().limit;
    step.weight /= all;
  }
}

void Population::add(std::uint32_t slot) {
  if (births_.size() > 2 * alive_ + kSpare) forget_the_gone();
  births_.push_back({made_++, slot, true});
  ++alive_;
  // The new node of the tree counts itself and the nodes below it.
  const std::size_t at = births_.size();
  std::uint32_t sum = 1;
  for (std::size_t below = at - 1; below > at - (at & -at); below -= below & -below)
    sum += sums_[below - 1];
  sums_.push_back(sum);
}

void Population::forget_the_gone() {
  std::erase_if(births_, [](const Birth& birth) { return !birth.alive; });
  sums_.assign(births_.size(), 0);
  for (std::size_t at = 1; at <= sums_.size(); ++at) {
    ++sums_[at - 1];
    const std::size_t above = at + (at & -at);
    if (above <= sums_.size()) sums_[above - 1] += sums_[at - 1];
  }
}

// The number of living files among the first `count` births.
std::uint64_t Population::alive_among(std::size_t count) const {
  std::uint64_t sum = 0;
  for (; count > 0; count -= count & -count) sum += sums_[count - 1];
  return sum;
}

// The index of the n-th living file, from 0.
std::size_t Population::nth_alive(std::uint64_t n) const {
  std::size_t at = 0;
  std::size_t step = 1;
  while (step * 2 <= sums_.size()) step *= 2;
  for (; step > 0; step /= 2) {
    if (at + step > sums_.size() || sums_[at + step - 1] > n) continue;
    at += step;
    n -= sums_[at - 1];
  }
  return at;
}

std::uint32_t Population::any(Rng& rng) const {
  return births_[nth_alive(rng.below(alive_))].slot;
}

// How many living files were made before the moment that is `share` of all time ago.
std::uint64_t Population::older_than(double share) const {
  const auto moment = static_cast<std::uint64_t>(static_cast<double>(made_) * (1 - share));
  const auto at = std::partition_point(births_.begin(), births_.end(),
                                       [&](const Birth& birth) { return birth.number < moment; });
  return alive_among(static_cast<std::size_t>(at - births_.begin()));
}

std::uint32_t Population::take(Rng& rng) {
  // The youngest files come last. Each step of ages ends where the previous one begins.
  std::uint64_t end = alive_, best_first = 0, best_count = alive_;
  double worst = -2;
  for (const Step& step : shares_) {
    const std::uint64_t first = &step == &shares_.back() ? 0 : older_than(step.limit);
    const std::uint64_t count = end - std::min(end, first);
    const double excess = static_cast<double>(count) / static_cast<double>(alive_) - step.weight;
    if (count > 0 && excess > worst) {
      worst = excess;
      best_first = first;
      best_count = count;
    }
    end = std::min(end, first);
  }
  std::size_t at = nth_alive(best_first + rng.below(best_count));
  for (int more = 1; more < kCandidates; ++more) {
    const std::size_t other = nth_alive(best_first + rng.below(best_count));
    if (frailty(births_[other].number) > frailty(births_[at].number)) at = other;
  }
  births_[at].alive = false;
  for (std::size_t node = at + 1; node <= sums_.size(); node += node & -node) --sums_[node - 1];
  --alive_;
  return births_[at].slot;
}

}  // namespace e4r::age
