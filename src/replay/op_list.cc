// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/op_list.h"

#include "replay/op_reader.h"

namespace e4r::replay {

Result<OpList> read_ops(trace::EventSource& events, const Geometry& geometry, bool loaded,
                        std::span<const std::uint64_t> late) {
  OpList out;
  OpReader ops(events, geometry, loaded,
               late);  // a replay that runs the trace reports its contradictions
  for (;;) {
    E4R_TRY(const Op* op, ops.next());
    if (op == nullptr) return out;
    out.push_back(*op);
  }
}

}  // namespace e4r::replay
