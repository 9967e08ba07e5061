// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trace/bytes.h"
#include "trace/trace.h"

namespace e4r::trace {

// Detects the text format by the first bytes of a trace; unknown if they match none.
[[nodiscard]] Format recognise_text(std::string_view head);

// Opens a trace in a text format. Text without events is a trace without events.
[[nodiscard]] std::unique_ptr<Trace> text_trace(std::unique_ptr<ByteSource> bytes, Format format,
                                                std::string name, const ReadOptions& options);

// Recognises trace forms that lack information a replay needs, by the first bytes of a file.
// Returns a message that names the form and what to give instead; empty for all others.
[[nodiscard]] std::string_view foreign_form(std::string_view head);

}  // namespace e4r::trace
