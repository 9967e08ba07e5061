// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "age/workload.h"
#include "util/rng.h"
#include "util/status.h"
#include "util/units.h"

namespace e4r::age {

// Programs that write files: those of a word such as 'files=100 size=64K', or of a job of fio. All
// writers of a job do the same, each with files of its own unless they share them.
struct Job {
  // What a program does for a file before it writes.
  enum class Space : std::uint8_t {
    none,
    extend,   // fallocate of the whole file
    reserve,  // the same, but the file's size stays
    ahead,    // fallocate of `ahead` bytes whenever a write goes past what has space; size stays
  };
  std::string name;
  std::uint64_t writers = 1;
  std::uint64_t files = 1;        // of each writer; if `split`, of all writers together
  std::uint64_t size = 0;         // of a file, bytes
  std::uint64_t offset = 0;       // where in a file the writes begin, bytes
  std::uint64_t io = 0;           // what each writer writes, bytes; 0: all its files, once
  std::uint64_t bs = 128 * kKiB;  // of a write, bytes
  Space space = Space::none;
  std::uint64_t ahead = 0;
  std::uint64_t fsync = 0;  // writes between two fsyncs; 0: no such fsync
  std::uint64_t seed = 1;   // of a random order
  bool split = false;
  bool shared = false;   // all writers write the same files
  bool direct = false;   // past the page cache
  bool random = false;   // a file's parts come in random order, each once
  bool in_turn = false;  // one write to each file in turn; else file by file
  // The files exist before any job begins: created, given their space, and written if `laid_out`.
  bool created_first = false;
  bool laid_out = false;
  bool end_fsync = false;  // an fsync of every file before its writer ends
  bool waits = false;      // begins when all jobs before it have ended
  [[nodiscard]] std::uint64_t files_of(std::uint64_t writer) const {
    return split ? files / writers + (writer < files % writers ? 1 : 0) : files;
  }
  [[nodiscard]] std::uint64_t all_files() const {
    return split || shared ? files : files * writers;
  }
};

// Whether the jobs can be done there: sizes that a file can have, files that have inodes, and a
// number of writes that ends. The Error names the job and what to do.
[[nodiscard]] Status check_jobs(const std::vector<Job>& jobs, const FileLimits& limits);

// Draws the operations of jobs. Writers of jobs that run at the same time write in turn. Ends with
// a sync.
class JobWorkload {
 public:
  // The jobs must have passed check_jobs().
  explicit JobWorkload(std::vector<Job> jobs);
  [[nodiscard]] bool next(Operation& operation);
  // The last operation found no space: its writer ends, as fio does. A writer whose fallocate found
  // none goes on.
  void fail();

  [[nodiscard]] std::uint32_t files() const { return files_; }
  [[nodiscard]] std::uint32_t writers() const { return static_cast<std::uint32_t>(all_.size()); }
  [[nodiscard]] std::uint64_t bytes_wanted() const { return wanted_; }
  [[nodiscard]] std::uint64_t bytes_written() const { return written_; }

 private:
  // A file of a writer.
  struct File {
    std::uint32_t slot = 0;
    std::uint64_t at = 0;     // next part, in its order
    std::uint64_t space = 0;  // bytes that have space ahead of the writes
    bool open = false;
    std::vector<std::uint32_t> order;  // of the parts, if it is random
  };
  struct Writer {
    const Job* job = nullptr;
    std::uint32_t number = 0;
    std::vector<File> files;
    std::size_t file = 0;    // that is written next
    std::uint64_t left = 0;  // bytes
    std::uint64_t writes = 0;
    std::uint64_t phase = 0;
    bool done = false;
  };
  void add_job(const Job& job, std::uint64_t phase);
  void give_space(const Writer& writer, const File& file);
  void set_up(const Writer& writer);
  void step(Writer& writer);
  void finish(Writer& writer);
  void close(const Writer& writer, File& file);
  void queue(Operation::Kind kind, const Writer& writer, const File& file, std::uint64_t offset = 0,
             std::uint64_t bytes = 0);
  [[nodiscard]] bool is_a_writers(const Operation& operation) const;
  [[nodiscard]] static std::uint64_t parts_of(const Job& job);

  std::vector<Job> jobs_;
  std::vector<Writer> all_;
  std::vector<Operation> queue_;  // drawn; the next one is at `head_`
  std::size_t head_ = 0;
  std::size_t set_up_ = 0;  // writers whose files exist
  std::size_t turn_ = 0;
  std::uint64_t phase_ = 0;
  std::uint32_t files_ = 0;
  std::uint64_t wanted_ = 0, written_ = 0;
  Operation last_;
  bool sets_up_ = false;  // the operations in `queue_` create files before the jobs begin
  bool ended_ = false;
};

// What a word or a file asks for.
struct Wanted {
  std::vector<Job> jobs;  // empty: `profile` draws the operations
  std::string profile;
  std::string until;  // for a profile, in the form of parse_until(); empty: not given
  std::uint64_t seed = 1;
  bool spread = false;               // files lie in directories all over the disk; else all in one
  std::vector<std::string> ignored;  // settings of a job file that do not change allocations
};
// "files=10000 size=64K writers=8 fallocate=128K", "profile=agrawal turnover=0.1 seed=7", or the
// name of a built-in profile. The Error says what is wrong and which settings there are.
[[nodiscard]] Result<Wanted> parse_job_words(std::string_view text);
// The text of a job file of fio.
[[nodiscard]] Result<Wanted> parse_fio(std::string_view text, const std::string& name);

}  // namespace e4r::age
