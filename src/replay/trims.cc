// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/trims.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "replay/op_stream.h"

namespace e4r::replay {

namespace {

constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

// Where a thread's FITRIM is.
struct Call {
  std::uint32_t number = 0;
  std::uint32_t group = 0;
  bool to_the_end = false;  // of the group
};

bool goes_on(const Call& call, const Op& op) {
  return call.to_the_end && op.group > call.group && op.start == 0;
}

}  // namespace

Result<std::vector<RecordedTrim>> recorded_trims(trace::EventSource& events,
                                                 const Geometry& geometry, bool discards_recorded) {
  OpStream stream(events, geometry);
  std::vector<RecordedTrim> out;
  std::vector<std::uint32_t> shortest;  // of each call
  std::unordered_map<std::uint32_t, Call> threads;
  for (;;) {
    E4R_TRY(const Op* op, stream.next());
    if (op == nullptr) break;
    if (op->kind == Op::Kind::trim_group) {
      const auto [thread, first] = threads.try_emplace(op->pid);
      Call& call = thread->second;
      if (first || !goes_on(call, *op)) {
        call.number = static_cast<std::uint32_t>(shortest.size());
        shortest.push_back(discards_recorded ? kNothing : 1);
      }
      call.group = op->group;
      call.to_the_end = op->start + op->count >= geometry.clusters_per_group;
      out.push_back({call.number, 0, 0});
    } else if (op->kind == Op::Kind::discard_blocks && op->request != 0) {
      RecordedTrim& trim = out[op->request - 1];
      ++trim.sent;
      std::uint32_t& least = shortest[trim.call];
      least = static_cast<std::uint32_t>(std::min<std::uint64_t>(least, op->count));
    }
  }
  for (RecordedTrim& trim : out) trim.minlen = shortest[trim.call];
  return out;
}

}  // namespace e4r::replay
