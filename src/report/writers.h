// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "report/replay_report.h"

// What many writers would have made of the requests (results::Outcome::by_writers).
namespace e4r::report {

// Whether the report has any.
[[nodiscard]] bool has_writers(const ReplayReport& report);

// A table of all policies; empty without any.
[[nodiscard]] std::string writers_text(const ReplayReport& report);

}  // namespace e4r::report
