// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "review/review.h"

// What the text and the page of a review say in the same words.
namespace e4r::review {

// "linux-7.3 with mb_max_to_scan=100", and whether anything decides like this.
[[nodiscard]] std::string side_text(const Side& side);
// What was compared and what noise there is, in sentences.
[[nodiscard]] std::string summary_text(const Review& review);
// What "followed" means.
[[nodiscard]] std::string inputs_note(const Review& review);
// "10.0 GiB, 4.0 KiB".
[[nodiscard]] std::string shape_text(const Case& one);
// "100 %", "99.98 %": never 100 of fewer than all.
[[nodiscard]] std::string followed_text(const Case& one);
// 0 of nothing.
[[nodiscard]] double percent_of(std::uint64_t part, std::uint64_t all);
// The sizes of a bucket of free extents as e2freefrag has them: "4K... 8K-".
[[nodiscard]] std::string range_text(std::size_t bucket, std::uint32_t block_size);

}  // namespace e4r::review
