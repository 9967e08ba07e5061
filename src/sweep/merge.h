// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sweep/store.h"

// Parts of one sweep, run apart from each other (--points), become what one run would have left.
namespace e4r::sweep {

// The whole sweep, as its parts tell of it.
struct Joined {
  Plan plan;
  std::string manifest;  // of all points
  Finished finished;     // of all parts
};

// Reads the directories of the parts. `program`: the program that joins them; parts of another
// program are refused. Errors: a directory that holds no sweep, parts of different sweeps, a point
// that two parts tell differently.
[[nodiscard]] Result<Joined> join(const std::vector<std::string>& directories,
                                  std::string_view program);

// "4-6, 9" for points that have no line; empty when all have.
[[nodiscard]] std::string missing_points(const Lines& lines);

// How a sweep is cut into jobs, each one idempotent command that goes on with what it finds.
struct Jobs {
  std::string command;    // the sweep, quoted for a shell, without --points, -o and --threads
  std::string best;       // --best of the whole
  std::string directory;  // the parts go to its part-1, part-2, ...
  std::uint64_t points = 0;
  std::uint64_t jobs = 0;  // at most `points`
};
// A script for `sbatch`: an array job, one part a task. Outside of such a task it joins the parts.
[[nodiscard]] std::string slurm_script(const Jobs& jobs);
// A script that runs all parts with GNU parallel and joins them.
[[nodiscard]] std::string parallel_script(const Jobs& jobs);

}  // namespace e4r::sweep
