// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trace/bytes.h"
#include "trace/trace.h"

namespace e4r::trace {

// Which text format these first bytes of a trace are; unknown when they are none.
[[nodiscard]] Format recognise_text(std::string_view head);

// A trace of one of the text formats. Text that holds no event is a trace without events.
[[nodiscard]] std::unique_ptr<Trace> text_trace(std::unique_ptr<ByteSource> bytes, Format format,
                                                std::string name, const OpenOptions& options);

}  // namespace e4r::trace
