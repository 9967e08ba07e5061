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

// Programs that write files, described by words such as 'files=100 size=64K' or by an fio job. All
// writers of a job do the same, each with its own files unless they share them.
struct Job {
  // How a program allocates space before it writes a file.
  enum class Space : std::uint8_t {
    none,
    extend,   // fallocate for the whole file
    reserve,  // like `extend`, but keeps the file's size
    ahead,    // fallocate of `ahead` bytes when a write exceeds the allocated space; keeps the size
  };
  std::string name;
  std::uint64_t writers = 1;
  std::uint64_t files = 1;        // per writer; if `split`, total of all writers
  std::uint64_t size = 0;         // size of a file in bytes
  std::uint64_t offset = 0;       // bytes; offset of the first write in a file
  std::uint64_t io = 0;           // bytes that each writer writes; 0: each of its files once
  std::uint64_t bs = 128 * kKiB;  // size of a write in bytes
  Space space = Space::none;
  std::uint64_t ahead = 0;
  std::uint64_t fsync = 0;  // writes between two fsyncs; 0: no fsync
  std::uint64_t seed = 1;   // seed of the random order
  bool split = false;
  bool shared = false;   // all writers write the same files
  bool direct = false;   // bypasses the page cache
  bool random = false;   // writes the parts of a file in random order, each once
  bool in_turn = false;  // writes to the files in turn; otherwise file by file
  // The files are set up before any job begins: created, allocated, and written if `laid_out`.
  bool created_first = false;
  bool laid_out = false;
  bool end_fsync = false;  // fsyncs every file before the writer ends
  bool waits = false;      // begins after all preceding jobs have ended
  [[nodiscard]] std::uint64_t files_of(std::uint64_t writer) const {
    return split ? files / writers + (writer < files % writers ? 1 : 0) : files;
  }
  [[nodiscard]] std::uint64_t all_files() const {
    return split || shared ? files : files * writers;
  }
};

// Checks that the file system can run the jobs: files are not too large, there are enough inodes,
// and the number of writes is not too large. The Error names the job and what to do.
[[nodiscard]] Status check_jobs(const std::vector<Job>& jobs, const FileLimits& limits);

// Draws the operations of jobs. Writers of concurrent jobs write in turn. Ends with a sync.
class JobWorkload {
 public:
  // The jobs must have passed check_jobs().
  explicit JobWorkload(std::vector<Job> jobs);
  [[nodiscard]] bool next(Operation& operation);
  // Reports that the last operation found no space. Its writer ends, as in fio; after a failed
  // fallocate it continues.
  void fail();

  [[nodiscard]] std::uint32_t files() const { return files_; }
  [[nodiscard]] std::uint32_t writers() const { return static_cast<std::uint32_t>(all_.size()); }
  [[nodiscard]] std::uint64_t bytes_wanted() const { return wanted_; }
  [[nodiscard]] std::uint64_t bytes_written() const { return written_; }

 private:
  // A file of a writer.
  struct File {
    std::uint32_t slot = 0;
    std::uint64_t at = 0;     // index of the next part, in writing order
    std::uint64_t space = 0;  // bytes for which space has been allocated
    bool open = false;
    std::vector<std::uint32_t> order;  // order of the parts, if random
  };
  struct Writer {
    const Job* job = nullptr;
    std::uint32_t number = 0;
    std::vector<File> files;
    std::size_t file = 0;    // file that is written next
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
  std::vector<Operation> queue_;  // drawn operations; the next one is at `head_`
  std::size_t head_ = 0;
  std::size_t set_up_ = 0;  // number of writers whose files exist
  std::size_t turn_ = 0;
  std::uint64_t phase_ = 0;
  std::uint32_t files_ = 0;
  std::uint64_t wanted_ = 0, written_ = 0;
  Operation last_;
  bool sets_up_ = false;  // the operations in `queue_` set up files before the jobs begin
  bool ended_ = false;
};

// The workload that words or a job file describe.
struct Wanted {
  std::vector<Job> jobs;  // empty: `profile` draws the operations
  std::string profile;
  std::string until;  // when a profile's ageing ends, for parse_until(); empty: not given
  std::uint64_t seed = 1;
  bool spread = false;  // files are in directories spread over the disk; otherwise in one
  std::vector<std::string> ignored;  // settings of a job file that do not change allocations
};
// Parses "files=10000 size=64K writers=8 fallocate=128K", "profile=agrawal turnover=0.1 seed=7", or
// the name of a built-in profile. The Error says what is wrong and lists the settings.
[[nodiscard]] Result<Wanted> parse_job_words(std::string_view text);
// Parses the text of an fio job file.
[[nodiscard]] Result<Wanted> parse_fio(std::string_view text, const std::string& name);

}  // namespace e4r::age
