// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "trace/bytes.h"
#include "trace/trace.h"

namespace e4r::trace::dat {

// Opens a trace.dat file of trace-cmd. Delivers the events of all CPUs and buffers in order of
// time, as `trace-cmd report` prints them. Input that is not contiguous in memory is first copied
// to an unlinked file in $TMPDIR (or /tmp).
[[nodiscard]] Result<std::unique_ptr<Trace>> dat_trace(std::unique_ptr<ByteSource> bytes,
                                                       std::string name,
                                                       const ReadOptions& options);

}  // namespace e4r::trace::dat
