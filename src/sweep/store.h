// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/manifest.h"
#include "util/fd.h"

// The directory that a sweep's results go to:
//   sweep.json       what sweep it is (manifest.h)
//   points.journal   while it runs: finished points, in the order in which they were finished
//   points.jsonl, points.csv, sweep.sqlite, summary.json   at the end, each whole or not there
// A kill at any instant loses the points that were not finished and nothing else.
namespace e4r::sweep {

// Lines of finished points by index, as line.h has them; empty: not finished.
using Lines = std::vector<std::string>;

// What is finished, and what was not as it should be.
struct Finished {
  Lines lines;
  std::uint64_t count = 0;
  std::uint64_t damaged = 0;  // lines with a wrong checksum, torn, or of points outside the range
};

// Takes the whole lines of a text that are points of the range; the last may be torn.
void take_lines(std::string_view text, const Plan& plan, const Range& range, Finished& into);

// The same of the files in which a directory's sweep keeps them, those that are there.
[[nodiscard]] Status take_files(const std::string& directory, const Plan& plan, const Range& range,
                                Finished& into);

class Store {
 public:
  // What there is to go on with, reading only: nothing when the directory is not there or empty.
  // Errors: it is not empty and `resume` is false; it holds no sweep, or another than `manifest`.
  [[nodiscard]] static Result<Finished> look(const std::string& directory,
                                             const std::string& manifest, const Plan& plan,
                                             const Range& range, bool resume);
  // The files that there will be in the directory.
  [[nodiscard]] static std::vector<std::string> files(const std::string& directory);
  // The error of look(), as far as it can be found without a manifest.
  [[nodiscard]] static Status check(const std::string& directory, bool resume);

  // Looks again, makes the directory where there is none, keeps others out of it, removes what a
  // kill has left, and begins a journal of what is finished. The plan must outlive the store.
  [[nodiscard]] static Result<Store> begin(const std::string& directory,
                                           const std::string& manifest, const Plan& plan,
                                           const Range& range, bool resume);

  // Writes a finished point down. Thread-safe.
  [[nodiscard]] Status add(std::size_t index, std::string line);

  [[nodiscard]] const Finished& finished() const { return finished_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string file(std::string_view name) const;
  // Puts a file there, whole or not at all.
  [[nodiscard]] Status write(std::string_view name, std::string_view text) const;

  // Puts the journal on disk: the sweep stops here for now.
  [[nodiscard]] Status suspend();
  // Removes the journal; the results have been written. It may be gone: where a lock of one node is
  // none of another, a job that is run twice at once ends in the same files twice.
  [[nodiscard]] Status end();

 private:
  Store(std::string directory, Fd lock, Finished finished)
      : directory_(std::move(directory)), lock_(std::move(lock)), finished_(std::move(finished)) {}

  std::string directory_;
  Fd lock_;     // the directory, locked
  Fd journal_;  // open for appending
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  Finished finished_;
};

}  // namespace e4r::sweep
