// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "review/review.h"

// Wording shared by the text and the page of a review.
namespace e4r::review {

// Names a side, such as "linux-7.3 with mb_max_to_scan=100", and says whether a kernel is known to
// decide as the model does.
[[nodiscard]] std::string side_text(const Side& side);
// Identifies the code of a policy from a file: release and commit of a kernel, and the checksum.
// Empty for built-in policies.
[[nodiscard]] std::string code_text(const Side& side);
// Describes in sentences what was compared.
[[nodiscard]] std::string summary_text(const Review& review);
// Explains times and their noise; empty if there are no times.
[[nodiscard]] std::string times_note(const Review& review);
// Summarises the changes of a figure: "worse in 42 of 88, median +1.2 %, most +67.0 % in
// git-1k-aged; better in 3".
[[nodiscard]] std::string way_text(const Review& review, const Summary& summary, Change change);
// Counts the failures: "kernel:mine.uml failed in 2 of 93 cases, --base in 1 of these". Empty if
// nothing failed. If `change` is better, counts the cases in which --base failed and --with did
// not.
[[nodiscard]] std::string failures_text(const Review& review, Change change);
// The text to print if no figure changed by enough to be listed.
[[nodiscard]] std::string nothing_changed(const Review& review, Change change);
// Describes how a figure of a case changed. If the change is within the noise, the text is "noise"
// for a time and "luck" for any other figure.
[[nodiscard]] std::string change_text(const Figure& figure);
// The text " ±0.4" after a change, in percent. Empty if the figure does not vary by chance.
[[nodiscard]] std::string luck_text(const Figure& figure);
// The plot of the page: a row per figure, a dot per case. Empty if there is nothing to compare.
[[nodiscard]] std::string plot_html(const Review& review);
// The names of the cases, separated by commas.
[[nodiscard]] std::string names_text(const Review& review, const std::vector<std::size_t>& of);
// The cases in which both policies made the same decisions.
[[nodiscard]] std::vector<std::size_t> alike_cases(const Review& review);
// Explains "followed".
[[nodiscard]] std::string inputs_note(const Review& review);
// Formats the sizes of the file system and of its blocks: "10.0 GiB, 4.0 KiB".
[[nodiscard]] std::string shape_text(const Case& one);
// Formats the share of followed decisions: "100 %", "99.98 %". Never rounds up to "100 %".
[[nodiscard]] std::string followed_text(const Case& one);
// Returns 0 if `all` is 0.
[[nodiscard]] double percent_of(std::uint64_t part, std::uint64_t all);
// The range of a bucket of free extents, in e2freefrag's notation: "4K... 8K-".
[[nodiscard]] std::string range_text(std::size_t bucket, std::uint32_t block_size);

}  // namespace e4r::review
