// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/op_list.h"

#include "replay/intake.h"

namespace e4r::replay {

Result<OpList> read_ops(trace::EventSource& events, const Geometry& geometry, bool loaded,
                        std::span<const std::uint64_t> late) {
  OpList out;
  OpStream stream(events, geometry, loaded, late);
  Contradictions found;  // a replay that runs the trace has reported them
  Intake intake(geometry, found);
  for (;;) {
    E4R_TRY(Op * op, stream.next());
    if (op == nullptr) return out;
    if (intake.admit(*op)) out.push_back(*op);
  }
}

}  // namespace e4r::replay
