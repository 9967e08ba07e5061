// SPDX-License-Identifier: GPL-2.0-or-later
#include "contention/program.h"

#include <algorithm>
#include <string_view>

namespace e4r::contention {
namespace {

using allocator::LockStep;
using What = RequestProgram::What;
using Step = RequestProgram::Step;

// The time from a refused group to the next group, assumed until a request has shown the real time.
constexpr std::uint32_t kUsualNextGroupNs = 100;

// Whether each CPU has its own lock of that name: the locks in struct ext4_locality_group.
bool is_of_cpu(std::string_view name) {
  return name.starts_with("lg_");
}

void mark_spins(std::vector<Step>& steps, std::size_t begin) {
  for (std::size_t i = begin; i < steps.size(); ++i) {
    if (steps[i].what != What::sleep) continue;
    steps[i].spins = false;
    const auto let_go = std::find_if(
        steps.begin() + static_cast<std::ptrdiff_t>(i), steps.end(),
        [&](const Step& s) { return s.what == What::let_go && s.lock == steps[i].lock; });
    if (let_go != steps.end()) let_go->spins = false;
  }
}

// Marks the last step that tries the lock of a group. The request is served in that group.
void mark_deciding(std::vector<Step>& steps, std::size_t begin) {
  for (std::size_t i = steps.size(); i > begin; --i) {
    if (steps[i - 1].what != What::tries) continue;
    steps[i - 1].decides = true;
    return;
  }
}

// Marks the last step that waits for the lock of a group instead of only trying it. Under that
// lock, the request marks its clusters as in use.
void mark_marking(std::vector<Step>& steps, std::size_t begin) {
  for (std::size_t i = steps.size(); i > begin; --i) {
    if (steps[i - 1].group == RequestProgram::kNoGroup || steps[i - 1].what != What::take) continue;
    steps[i - 1].marks = true;
    return;
  }
}

std::uint32_t group_of(const LockStep& step) {
  const std::uint64_t group = step.lock & ~LockStep::kOfGroup;
  const bool of_group = group != step.lock && group < RequestProgram::kNoGroup;
  return of_group ? static_cast<std::uint32_t>(group) : RequestProgram::kNoGroup;
}

}  // namespace

LockNumbers::LockNumbers(unsigned cpus) : cpus_(cpus), count_(allocator::kGroupLocks) {}

std::uint32_t LockNumbers::next_group_ns() const {
  return next_groups_ == 0 ? kUsualNextGroupNs
                           : static_cast<std::uint32_t>(next_groups_ns_ / next_groups_);
}

// Group locks have the lowest numbers. The locks of one name that belong to the CPUs have
// consecutive numbers.
std::uint32_t LockNumbers::number(const LockStep& step, bool of_cpu) {
  if ((step.lock & LockStep::kOfGroup) != 0)
    return static_cast<std::uint32_t>(step.lock % allocator::kGroupLocks);
  const std::uint16_t name = names_of_.try_emplace(step.lock, step.name).first->second;
  const auto [found, added] =
      of_cpu ? of_cpus_.try_emplace(name, count_) : numbers_.try_emplace(step.lock, count_);
  if (added) count_ += of_cpu ? cpus_ : 1;
  return found->second;
}

void LockNumbers::read(const allocator::LockNotes& notes, RequestProgram& program) {
  program.steps.clear();
  program.rest_ns = 0;
  for (std::size_t part = 0; part < notes.size(); ++part) read_part(notes, part, program);
}

void LockNumbers::read_part(const allocator::LockNotes& notes, std::size_t part,
                            RequestProgram& program) {
  std::vector<Step>& steps = program.steps;
  const allocator::LockNotes::Request request = notes[part];
  const std::size_t begin = steps.size();
  std::uint32_t at = 0;
  for (const LockStep& from : request.steps) {
    const bool of_cpu = is_of_cpu(notes.names()[from.name]);
    const std::uint32_t after_ns = from.ns - at;
    const bool follows = steps.size() > begin && steps.back().lock < allocator::kGroupLocks &&
                         steps.back().what == What::let_go;
    if (follows && from.what == What::tries) {
      ++next_groups_;
      next_groups_ns_ += after_ns;
    }
    // The writer first spends the time that remains after the last step of the previous part.
    const std::uint32_t before_ns = steps.size() == begin ? program.rest_ns : 0;
    steps.push_back({before_ns + after_ns, number(from, of_cpu), group_of(from), from.name,
                     from.what, true, of_cpu, false, false});
    at = from.ns;
  }
  mark_spins(steps, begin);
  mark_deciding(steps, begin);
  mark_marking(steps, begin);
  const bool lone = steps.size() == begin;
  program.rest_ns = request.ns - at + (lone ? program.rest_ns : 0);
}

}  // namespace e4r::contention
