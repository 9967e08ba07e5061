// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "common/command.h"
#include "trace/inspection.h"

namespace e4r::tools {

// The text of `e4replay trace info` about a trace.
[[nodiscard]] std::string info_text(const trace::Inspection& info);
// The value of "trace" in the JSON of schema e4replay-trace-info/1.
[[nodiscard]] boost::json::object info_json(const trace::Inspection& info);

// trace info, trace convert, trace cut.
extern const Command kTraceCommand;

}  // namespace e4r::tools
