// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "trace/bytes.h"
#include "trace/trace.h"

namespace e4r::trace::dat {

// A trace.dat of trace-cmd: the events of all CPUs and buffers in the order of time, as `trace-cmd
// report` prints them. Input that does not lie in memory in one piece goes to an unlinked file in
// $TMPDIR (or /tmp) first.
[[nodiscard]] Result<std::unique_ptr<Trace>> dat_trace(std::unique_ptr<ByteSource> bytes,
                                                       std::string name,
                                                       const OpenOptions& options);

}  // namespace e4r::trace::dat
