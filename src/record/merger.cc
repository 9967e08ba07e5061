// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/merger.h"

#include <queue>
#include <tuple>

namespace e4r::record {

std::span<trace::Event> Merger::take_before(std::uint64_t until) {
  out_.clear();
  using Head = std::tuple<std::uint64_t, std::size_t>;  // time, CPU
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto offer = [&](std::size_t cpu) {
    const auto& queue = queues_[cpu];
    if (!queue.empty() && queue.front().time_ns < until) heads.emplace(queue.front().time_ns, cpu);
  };
  for (std::size_t cpu = 0; cpu < queues_.size(); ++cpu) offer(cpu);
  while (!heads.empty()) {
    const std::size_t cpu = std::get<1>(heads.top());
    heads.pop();
    out_.push_back(queues_[cpu].front());
    queues_[cpu].pop_front();
    offer(cpu);
  }
  return out_;
}

}  // namespace e4r::record
