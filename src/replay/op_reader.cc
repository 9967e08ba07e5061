// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/op_reader.h"

namespace e4r::replay {

Result<const Op*> OpReader::next() {
  for (;;) {
    E4R_TRY(Op * op, stream_.next());
    if (op == nullptr) break;
    if (intake_.admit(*op)) return op;
  }
  if (stream_.strays() > contradictions_.strays)
    contradictions_.note(&Contradictions::strays, stream_.first_stray(),
                         stream_.strays() - contradictions_.strays);
  return nullptr;
}

}  // namespace e4r::replay
