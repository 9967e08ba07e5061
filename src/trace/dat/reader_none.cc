// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces reader.cc in builds without libtraceevent.
#include "trace/readers.h"

namespace e4r::trace::dat {

Result<std::unique_ptr<Trace>> dat_trace(std::unique_ptr<ByteSource> /*bytes*/, std::string name,
                                         const ReadOptions& /*options*/) {
  return error(
      "{}: is a recording of trace-cmd, and this e4replay was built without libtraceevent: give "
      "the output of `trace-cmd report`",
      name);
}

}  // namespace e4r::trace::dat
