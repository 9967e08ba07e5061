// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/observer.h"

#include <algorithm>

namespace e4r::allocator {

std::uint16_t LockNotes::name(std::string_view text) {
  const auto found = std::find(names_.begin(), names_.end(), text);
  if (found == names_.end()) {
    names_.emplace_back(text);
    return static_cast<std::uint16_t>(names_.size() - 1);
  }
  return static_cast<std::uint16_t>(found - names_.begin());
}

void LockNotes::add(std::span<const LockStep> steps, std::uint32_t ns) {
  std::vector<LockStep> held;
  std::uint32_t at = 0;
  for (LockStep step : steps) {
    step.ns = at = std::max(at, step.ns);
    const auto of_it = std::find_if(held.begin(), held.end(),
                                    [&](const LockStep& s) { return s.lock == step.lock; });
    const bool lets_go = step.what == LockStep::What::let_go;
    // Ignore a step that takes a lock that is already held, or that releases a lock that is not
    // held.
    if (lets_go != (of_it != held.end())) continue;
    if (lets_go) {
      step.name = of_it->name;
      held.erase(of_it);
    } else {
      held.push_back(step);
    }
    steps_.push_back(step);
  }
  ns = std::max(ns, at);
  for (; !held.empty(); held.pop_back()) {
    LockStep& last = held.back();
    steps_.push_back({last.lock, ns, last.name, LockStep::What::let_go});
  }
  requests_.push_back({steps_.size(), ns});
}

void LockNotes::forget() {
  steps_.clear();
  requests_.clear();
}

LockNotes::Request LockNotes::operator[](std::size_t request) const {
  const std::uint64_t begin = request == 0 ? 0 : requests_[request - 1].end;
  const Entry& entry = requests_[request];
  return {std::span(steps_).subspan(begin, entry.end - begin), entry.ns};
}

}  // namespace e4r::allocator
