// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conformance/model_fs.h"
#include "util/rng.h"

namespace e4r::conformance {

struct WorkloadOptions {
  std::uint64_t seed = 1;
  std::uint32_t threads = 3;  // the maximum number of pending allocations
  std::uint32_t cpus = 2;
  std::uint32_t largest = 700;  // maximum number of clusters per write
  std::uint32_t most_files = 60;
  bool inputs = false;  // the trace contains i_size and i_writecount
};

struct ModelFile {
  std::uint64_t size = 0;  // bytes
  ClusterMap clusters;
  ClusterMap old;                                                 // clusters from the start image
  std::vector<std::pair<std::uint64_t, std::uint32_t>> metadata;  // first block, clusters
  bool busy = false;  // whether a thread is working on it
};
using ModelFiles = std::map<std::uint64_t, ModelFile>;  // by inode

// Adds files to the start image. A workload that starts from it can change them.
[[nodiscard]] ModelFiles add_old_files(ModelFs& fs, Rng& rng, std::uint32_t count,
                                       std::uint32_t clusters, std::uint32_t longest);

// Stands in for the file system above the allocator: creates, appends to, rewrites, truncates,
// punches, preallocates and deletes files at random, commits transactions, and hands every request
// that needs space to the allocator. Keeps its own simple record of the owner of each cluster, and
// writes the trace.
class Workload {
 public:
  Workload(allocator::Allocator& allocator, const ModelFs& fs, ModelFiles files,
           const WorkloadOptions& options);

  // Continues with an allocator whose state equals that of the present one.
  void move_to(allocator::Allocator& allocator) { allocator_ = &allocator; }

  void step();
  void run(std::uint32_t steps);
  // Deletes every file and commits.
  void delete_everything();
  void commit_everything();

  // Called after each decision and each change of the state.
  std::function<void()> watch;

  [[nodiscard]] const ModelFiles& files() const { return files_; }
  [[nodiscard]] const std::vector<trace::Event>& events() const { return writer_.events(); }
  // Violations by the allocator, one line each.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] std::uint64_t decisions() const { return decisions_; }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  // The number of clusters that are in use in the settled state but not in the workload's record,
  // or vice versa.
  [[nodiscard]] std::uint64_t count_strays(const state::FsState& state) const;

 private:
  struct Pending {
    std::uint64_t transaction;
    std::uint32_t group, start, len;
  };
  enum class Action : std::uint8_t {
    create,
    append,
    write,
    fallocate,
    metadata,
    close,
    truncate,
    punch,
    remove,
    load,
    commit,
  };

  void step_by(std::uint32_t depth);
  void act(Action action, std::uint64_t ino, std::uint32_t depth);
  [[nodiscard]] Thread thread(std::uint32_t depth);
  [[nodiscard]] std::uint64_t pick();
  void others(std::uint32_t depth);

  void create(std::uint32_t depth);
  void append(std::uint64_t ino, std::uint32_t depth);
  void write(std::uint64_t ino, std::uint32_t first, std::uint32_t count, std::uint32_t flags,
             std::uint32_t depth);
  void add_metadata(std::uint64_t ino, std::uint32_t depth);
  void discard(std::uint64_t ino, std::uint32_t depth);
  void remove_range(std::uint64_t ino, std::uint32_t first, std::uint32_t end, std::uint32_t depth);
  void remove(std::uint64_t ino, std::uint32_t depth);
  void commit_step();

  [[nodiscard]] allocator::Request request_for(std::uint64_t ino, std::uint32_t first,
                                               std::uint32_t len, std::uint32_t flags);
  // Returns the number of allocated clusters, or 0, and stores their first block in `block`.
  std::uint32_t allocate(allocator::Request request, std::uint64_t* block, std::uint32_t depth);
  void judge(const allocator::Request& request, const allocator::Decision& decision);
  void free_run(std::uint64_t ino, std::uint64_t block, std::uint32_t len, std::uint32_t depth);
  void set_used(std::uint64_t block, std::uint32_t len, bool used);
  [[nodiscard]] std::size_t index_of(std::uint64_t block) const;
  [[nodiscard]] std::uint32_t some_clusters();
  void changed() {
    if (watch) watch();
  }

  allocator::Allocator* allocator_;
  const state::MountedGeometry& geometry_;
  std::vector<bool> seen_loaded_;  // groups that a reader of the trace knows to be loaded
  WorkloadOptions options_;
  Rng rng_;
  KernelTraceWriter writer_;
  ModelFiles files_;
  std::vector<std::vector<std::uint64_t>> used_;  // the bitmap of each group
  std::vector<Pending> pending_;
  std::uint64_t free_ = 0;  // as in statfs: includes freed clusters that wait for a commit
  std::uint64_t transaction_ = 0;
  bool flushing_ = false;
  std::uint64_t decisions_ = 0;
  std::uint64_t failed_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace e4r::conformance
