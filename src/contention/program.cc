// SPDX-License-Identifier: GPL-2.0-or-later
#include "contention/program.h"

#include <algorithm>
#include <unordered_map>

namespace e4r::contention {
namespace {

// When a capture never went on from one group to the next.
constexpr std::uint32_t kUsualNextGroupNs = 100;

// The members of struct ext4_locality_group: each CPU has one of them.
bool is_of_cpu(std::string_view name) {
  return name.starts_with("lg_");
}

std::uint32_t median(std::vector<std::uint32_t> values, std::uint32_t otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Program::Program(const Work& work, unsigned cpus) {
  using allocator::LockStep;
  const std::vector<std::string>& names = work.notes.names();
  // Locks of groups come first.
  locks_ = Machine::kGroupLocks;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  std::unordered_map<std::uint64_t, std::uint32_t> of_cpus;   // by name
  std::unordered_map<std::uint64_t, std::uint16_t> names_of;  // the first ones
  std::vector<std::uint32_t> next_group;
  for (std::size_t i = 0; i < work.notes.size(); ++i) {
    const allocator::LockNotes::Request request = work.notes[i];
    const std::size_t begin = steps_.size();
    std::uint32_t at = 0;
    for (const LockStep& from : request.steps) {
      Step step = {from.ns - at, 0, from.name, from.what, true, is_of_cpu(names[from.name]), false};
      at = from.ns;
      if ((from.lock & LockStep::kOfGroup) != 0) {
        step.lock = static_cast<std::uint32_t>(from.lock % Machine::kGroupLocks);
      } else {
        // Whatever names one of a CPU has, those of the other CPUs stand beside it.
        const std::uint16_t name = names_of.try_emplace(from.lock, from.name).first->second;
        const auto [found, added] = step.of_cpu ? of_cpus.try_emplace(name, locks_)
                                                : numbers.try_emplace(from.lock, locks_);
        if (added) locks_ += step.of_cpu ? cpus : 1;
        step.lock = found->second;
      }
      const bool follows = steps_.size() > begin && steps_.back().lock < Machine::kGroupLocks &&
                           steps_.back().what == What::let_go;
      if (follows && step.what == What::tries) next_group.push_back(step.after_ns);
      steps_.push_back(step);
    }
    mark_spins(begin);
    mark_deciding(begin);
    requests_.push_back({steps_.size(), request.ns - at});
  }
  next_group_ns_ = median(std::move(next_group), kUsualNextGroupNs);
}

void Program::mark_spins(std::size_t begin) {
  for (std::size_t i = begin; i < steps_.size(); ++i) {
    if (steps_[i].what != What::sleep) continue;
    steps_[i].spins = false;
    const auto let_go = std::find_if(
        steps_.begin() + static_cast<std::ptrdiff_t>(i), steps_.end(),
        [&](const Step& s) { return s.what == What::let_go && s.lock == steps_[i].lock; });
    if (let_go != steps_.end()) let_go->spins = false;
  }
}

// The last group that a request tries is where it is served.
void Program::mark_deciding(std::size_t begin) {
  for (std::size_t i = steps_.size(); i > begin; --i) {
    if (steps_[i - 1].what != What::tries) continue;
    steps_[i - 1].decides = true;
    return;
  }
}

Program::Request Program::operator[](std::size_t request) const {
  const std::uint64_t begin = request == 0 ? 0 : requests_[request - 1].end;
  const Entry& entry = requests_[request];
  return {std::span(steps_).subspan(begin, entry.end - begin), entry.rest_ns};
}

}  // namespace e4r::contention
