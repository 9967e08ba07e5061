// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trace/bytes.h"
#include "trace/trace.h"

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

}  // namespace e4r::trace
