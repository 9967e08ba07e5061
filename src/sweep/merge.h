// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sweep/store.h"

// Joins the parts of a sweep that ran separately (--points) into what a single run would have left.
namespace e4r::sweep {

// The whole sweep, put together from its parts.
struct Joined {
  Plan plan;
  std::string manifest;  // covers all points
  Finished finished;     // from all parts
};

// Reads the directories of the parts. Refuses parts made by a program other than `program`. Other
// errors: a directory without a sweep; parts of different sweeps; a point that differs between
// parts.
[[nodiscard]] Result<Joined> join(const std::vector<std::string>& directories,
                                  std::string_view program);

// The points without a line, such as "4-6, 9"; empty if all have one.
[[nodiscard]] std::string missing_points(const Lines& lines);

// How to divide a sweep into jobs. Each job is one idempotent command that resumes its part.
struct Jobs {
  std::string command;    // for a shell, without --points, -o and --threads
  std::string best;       // --best for the whole sweep
  std::string directory;  // the parts go to part-1, part-2, ... in it
  std::uint64_t points = 0;
  std::uint64_t jobs = 0;  // no more than `points`
};
// A script for `sbatch`: an array job with one part per task. Run outside of a task, it joins the
// parts.
[[nodiscard]] std::string slurm_script(const Jobs& jobs);
// A script that runs all parts with GNU parallel and joins them.
[[nodiscard]] std::string parallel_script(const Jobs& jobs);

}  // namespace e4r::sweep
