// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <span>
#include <string>

#include "report/replay_report.h"

// The files with the most extents (replay --files).
namespace e4r::report {

// Returns up to `count` files. `columns`: the files of each column, ordered by inode.
[[nodiscard]] FragmentedFiles most_fragmented(
    std::span<const std::vector<stats::FilePieces>> columns, std::size_t count);

// The list as a table for a terminal, as an array for the JSON document, and as a table for the
// page. Each is empty if the list was not requested.
[[nodiscard]] std::string fragmented_text(const ReplayReport& report);
[[nodiscard]] boost::json::array fragmented_json(const ReplayReport& report);
[[nodiscard]] std::string fragmented_html(const ReplayReport& report);

}  // namespace e4r::report
