// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "trace/summary.h"

namespace e4r::tools {

// What `e4replay trace info` says about a trace.
struct TraceInfo {
  std::string name;
  trace::TraceSummary summary;
  std::uint32_t device = 0;            // that the counts are about
  std::vector<std::string> notes;      // losses, damage, the choice of a device
  std::vector<std::string> obstacles;  // to an exact replay
  std::vector<std::string> remarks;
};

[[nodiscard]] std::string info_text(const TraceInfo& info);
// The value of "trace" in the JSON of schema e4replay-trace-info/1.
[[nodiscard]] boost::json::object info_json(const TraceInfo& info);

}  // namespace e4r::tools
