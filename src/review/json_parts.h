// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json.hpp>

#include "review/review.h"

// Parts shared by the documents of reviews and hunts.
namespace e4r::review {

[[nodiscard]] boost::json::object side_json(const Side& side);
[[nodiscard]] boost::json::object figure_json(const Figure& figure);

}  // namespace e4r::review
