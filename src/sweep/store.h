// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/manifest.h"
#include "util/fd.h"

// The directory with a sweep's results:
//   sweep.json       identifies the sweep (manifest.h)
//   points.journal   while it runs: finished points, in the order in which they finished
//   points.jsonl, points.csv, sweep.sqlite, summary.json   at the end, each whole or absent
// A kill at any time loses only the points that were not finished.
namespace e4r::sweep {

// Lines of finished points by index (line.h). Empty for an unfinished point.
using Lines = std::vector<std::string>;

// The finished points, and the number of bad lines.
struct Finished {
  Lines lines;
  std::uint64_t count = 0;
  // lines that are torn, fail their checksum, or are of a point outside the range
  std::uint64_t damaged = 0;
};

// Adds the lines of a text that are points of the range. The last line may be torn.
void take_lines(std::string_view text, const Plan& plan, const Range& range, Finished& into);

// The same for the files of a directory that hold points.
[[nodiscard]] Status take_files(const std::string& directory, const Plan& plan, const Range& range,
                                Finished& into);

class Store {
 public:
  // Returns the points to resume with; only reads. Empty if the directory is missing or empty.
  // Errors: it is not empty and `resume` is false; it has no sweep, or one that differs from
  // `manifest`.
  [[nodiscard]] static Result<Finished> look(const std::string& directory,
                                             const std::string& manifest, const Plan& plan,
                                             const Range& range, bool resume);
  // The files that the directory will contain.
  [[nodiscard]] static std::vector<std::string> files(const std::string& directory);
  // Makes those checks of look() that need no manifest.
  [[nodiscard]] static Status check(const std::string& directory, bool resume);

  // Calls look(), makes the directory if necessary, locks it, removes what a kill has left, and
  // begins a journal with what is finished. The plan must outlive the store.
  [[nodiscard]] static Result<Store> begin(const std::string& directory,
                                           const std::string& manifest, const Plan& plan,
                                           const Range& range, bool resume);

  // Records a finished point. Thread-safe.
  [[nodiscard]] Status add(std::size_t index, std::string line);

  [[nodiscard]] const Finished& finished() const { return finished_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string file(std::string_view name) const;
  // Writes a file, whole or not at all.
  [[nodiscard]] Status write(std::string_view name, std::string_view text) const;

  // Writes the journal to disk, before the sweep stops for now.
  [[nodiscard]] Status suspend();
  // Removes the journal after the results are written. The journal may be gone already: where one
  // node does not see another's lock, a job that runs twice at once writes the same files twice.
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

}  // namespace e4r::sweep
