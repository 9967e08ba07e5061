// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace e4r::age {

// A step of a histogram: the values above the previous step's limit and up to `limit`, and their
// weight relative to the other steps.
struct Step {
  double limit = 0;
  double weight = 0;
};

// The statistical properties of a population of files.
struct Profile {
  std::string name;
  std::string source;       // source of the figures, one line
  std::vector<Step> sizes;  // file sizes in bytes; ascending
  std::vector<Step>
      ages;  // ages of the existing files, in any unit; only ratios to the oldest matter
  double append_share = 0;   // share of operations that append to a file
  double rewrite_share = 0;  // share of operations that empty and rewrite a file
  double sync_every = 500;   // operations between two commits of the journal
  // Bytes that are kept on both sides of a hole (age/punch.h); 0: ageing does not punch holes. If
  // it is set, sizes are distributed evenly between the first and the last limit, and ages are
  // ignored.
  std::uint64_t punch = 0;
};

// Built-in profiles, by name.
[[nodiscard]] std::span<const Profile> profiles();
// Returns a built-in profile, or reads one from the file of that name:
//   size BYTES WEIGHT     a step of the sizes; ascending
//   age AGE WEIGHT        a step of the ages; ascending
//   append SHARE          (0) of the operations
//   rewrite SHARE         (0)
//   sync OPERATIONS       (500)
//   punch BYTES           (0)
// '#' begins a remark. The Error names the line.
[[nodiscard]] Result<Profile> find_profile(const std::string& name);
[[nodiscard]] Result<Profile> parse_profile(std::string_view text, const std::string& name);

}  // namespace e4r::age
