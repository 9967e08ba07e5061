// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/trims.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "replay/op_stream.h"

namespace e4r::replay {

namespace {

constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

// The progress of a thread's FITRIM.
struct Call {
  std::uint32_t number = 0;
  std::uint32_t group = 0;
  bool to_the_end = false;  // the last trim reached the end of its group
};

bool continues_call(const Call& call, const Op& op) {
  return call.to_the_end && op.group > call.group && op.start == 0;
}

// Collects the FITRIM calls from the operations of a trace.
class Trims {
 public:
  Trims(const Geometry& geometry, bool discards_recorded, bool warm)
      : geometry_(geometry), least_(discards_recorded ? kNothing : 1), warm_(warm) {}

  void take(const Op& op) {
    if (op.kind == Op::Kind::trim_group) return trim(op);
    if (op.kind == Op::Kind::discard_blocks && op.request != 0) return discard(op);
    if (warm_ && op.kind == Op::Kind::free) known_.insert(op.group);
  }

  [[nodiscard]] std::vector<RecordedTrim> finish() {
    for (std::size_t i = 0; i < trims_.size(); ++i) {
      RecordedTrim& trim = trims_[i];
      const bool left_out = first_.contains(i) && trim.sent == 0;
      trim.minlen = left_out ? kNothing : shortest_[trim.call];
    }
    return std::move(trims_);
  }

 private:
  void trim(const Op& op) {
    const auto [thread, first] = threads_.try_emplace(op.pid);
    Call& call = thread->second;
    if (first || !continues_call(call, op)) {
      call.number = static_cast<std::uint32_t>(shortest_.size());
      shortest_.push_back(least_);
    }
    call.group = op.group;
    call.to_the_end = op.start + op.count >= geometry_.clusters_per_group;
    if (warm_ && known_.insert(op.group).second) first_.insert(trims_.size());
    trims_.push_back({call.number, 0, 0});
  }

  void discard(const Op& op) {
    RecordedTrim& trim = trims_[op.request - 1];
    ++trim.sent;
    std::uint32_t& least = shortest_[trim.call];
    least = static_cast<std::uint32_t>(std::min<std::uint64_t>(least, op.count));
  }

  const Geometry& geometry_;
  std::uint32_t least_;
  bool warm_;
  std::vector<RecordedTrim> trims_;
  std::vector<std::uint32_t> shortest_;  // length of the shortest run, by call
  std::unordered_map<std::uint32_t, Call> threads_;
  std::unordered_set<std::uint32_t> known_;  // groups that the trace has trimmed or freed in
  // Indices into trims_: each group's first trim, if the trace had not freed clusters in the group
  // before it.
  std::unordered_set<std::size_t> first_;
};

}  // namespace

Result<std::vector<RecordedTrim>> recorded_trims(trace::EventSource& events,
                                                 const Geometry& geometry, bool discards_recorded,
                                                 bool warm) {
  OpStream stream(events, geometry);
  Trims trims(geometry, discards_recorded, warm);
  for (;;) {
    E4R_TRY(const Op* op, stream.next());
    if (op == nullptr) return trims.finish();
    trims.take(*op);
  }
}

}  // namespace e4r::replay
