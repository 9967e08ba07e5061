// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trace/bytes.h"
#include "trace/trace.h"

// The readers of traces that other programs write. open_trace() chooses one of them.
namespace e4r::trace {

// Detects the text format by the first bytes of a trace. Returns unknown if no format matches.
[[nodiscard]] Format recognise_text(std::string_view head);

// Opens a trace in a text format. Text without events gives an empty trace.
[[nodiscard]] std::unique_ptr<Trace> text_trace(std::unique_ptr<ByteSource> bytes, Format format,
                                                std::string name, const ReadOptions& options);

// Recognises, by the first bytes of a file, trace formats that lack information which a replay
// needs. Returns a message that names the format and what to use instead; empty for all other
// files.
[[nodiscard]] std::string_view foreign_form(std::string_view head);

namespace dat {

// Opens a trace.dat file of trace-cmd. Delivers the events of all CPUs and buffers in order of
// time, as `trace-cmd report` prints them. Input that is not contiguous in memory is first copied
// to an unlinked file in $TMPDIR (or /tmp).
[[nodiscard]] Result<std::unique_ptr<Trace>> dat_trace(std::unique_ptr<ByteSource> bytes,
                                                       std::string name,
                                                       const ReadOptions& options);

}  // namespace dat

}  // namespace e4r::trace
