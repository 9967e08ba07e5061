// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/rows.h"
#include "sweep/manifest.h"
#include "sweep/plan.h"
#include "util/fd.h"

// A finished point as one line of JSON, without a newline:
//   {"schema":"e4replay-sweep-point/1","point":1,"capture":...,"policy":...,"tunables":{...},
//    <the rows of a replay>,"crc":"89abcdef"}
// Lines of earlier versions lack "schema" and are still accepted. "tunables" has the values that
// the point sets, for those tunables that its policy has. The rows have the same keys as in the
// document of `e4replay replay`. "crc" is the CRC-32C of the bytes before its comma, in eight
// hexadecimal digits. A line does not depend on other lines, on time or on threads.
namespace e4r::sweep {

// `doubt` says why the results for the capture are doubtful; empty if nothing is known against
// them.
[[nodiscard]] std::string point_line(const Plan& plan, std::size_t index,
                                     const results::Outcome& run, const std::string& doubt = {});

// The index of the point on the line. Empty if the checksum is wrong, the line is incomplete, or
// the plan has no such point.
[[nodiscard]] std::optional<std::size_t> point_of(const Plan& plan, std::string_view line);

// Returns the line with a "schema" added if it lacks one. point_of() must accept the line.
[[nodiscard]] std::string with_schema(std::string_view line);

// The figures on the line, one for each of results::rows(), in the same order. point_of() must
// accept the line.
[[nodiscard]] std::vector<results::Value> figures_of(std::string_view line);

// The directory with a sweep's results:
//   sweep.json       identifies the sweep (manifest.h)
//   points.journal   while it runs: finished points, in the order in which they finished
//   points.jsonl, points.csv, sweep.sqlite, summary.json   at the end, each complete or absent
// If the program is killed, only the points that were not finished are lost.

// Lines of finished points by index (store.h). Empty for an unfinished point.
using Lines = std::vector<std::string>;

// For each capture, the reasons in its finished lines why its results are doubtful.
[[nodiscard]] std::vector<std::string> doubts_of(const Plan& plan, const Lines& lines);

// The finished points, and the number of bad lines.
struct Finished {
  Lines lines;
  std::uint64_t count = 0;
  // lines that are truncated, fail their checksum, or belong to a point outside the range
  std::uint64_t damaged = 0;
};

// Adds the lines of a text that describe points of the range. The last line may be truncated.
void take_lines(std::string_view text, const Plan& plan, const PointRange& range, Finished& into);

// Adds the lines of those files in a directory that contain points.
[[nodiscard]] Status take_files(const std::string& directory, const Plan& plan,
                                const PointRange& range, Finished& into);

class Store {
 public:
  // Returns the finished points of a sweep that is to be resumed. Changes nothing. Empty if the
  // directory is missing or empty. Errors: it is not empty and `resume` is false; it contains no
  // sweep, or one that differs from `manifest`.
  [[nodiscard]] static Result<Finished> look(const std::string& directory,
                                             const std::string& manifest, const Plan& plan,
                                             const PointRange& range, bool resume);
  // The files that the directory will contain.
  [[nodiscard]] static std::vector<std::string> files(const std::string& directory);
  // Makes the checks of look() that need no manifest.
  [[nodiscard]] static Status check(const std::string& directory, bool resume);

  // Calls look(), makes the directory if necessary, locks it, removes what a killed process has
  // left, and begins a journal with the finished points. The plan must outlive the store.
  [[nodiscard]] static Result<Store> begin(const std::string& directory,
                                           const std::string& manifest, const Plan& plan,
                                           const PointRange& range, bool resume);

  // Records a finished point. Thread-safe.
  [[nodiscard]] Status add(std::size_t index, std::string line);

  [[nodiscard]] const Finished& finished() const { return finished_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string file(std::string_view name) const;
  // Writes a file. The file is complete or absent.
  [[nodiscard]] Status write(std::string_view name, std::string_view text) const;

  // Syncs the journal to disk before the sweep pauses.
  [[nodiscard]] Status suspend();
  // Removes the journal after the results are written. The journal may be gone already: if nodes do
  // not see each other's locks, the same job may run twice at the same time and write the same
  // files twice.
  [[nodiscard]] Status end();

 private:
  Store(std::string directory, Fd lock, Finished finished)
      : directory_(std::move(directory)), lock_(std::move(lock)), finished_(std::move(finished)) {}

  std::string directory_;
  Fd lock_;     // a lock on the directory
  Fd journal_;  // open for appending
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  Finished finished_;
};

// Joins the parts of a sweep that ran separately (--points) into the result of a single run.

// The whole sweep, joined from its parts.
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

// The points without a line, such as "4-6, 9"; empty if every point has one.
[[nodiscard]] std::string missing_points(const Lines& lines);

// How to divide a sweep into jobs. Each job is one command that resumes its part, so it may be
// repeated.
struct Jobs {
  std::string command;    // quoted for a shell, without --points, -o and --threads
  std::string best;       // the argument of --best for the whole sweep
  std::string directory;  // contains the parts as part-1, part-2, ...
  std::uint64_t points = 0;
  std::uint64_t jobs = 0;  // no more than `points`
};
// A script for `sbatch`: an array job with one part per task. Run outside of a task, the script
// joins the parts.
[[nodiscard]] std::string slurm_script(const Jobs& jobs);
// A script that runs all parts with GNU parallel and joins them.
[[nodiscard]] std::string parallel_script(const Jobs& jobs);

}  // namespace e4r::sweep
