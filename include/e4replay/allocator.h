// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <e4replay/event.h>
#include <e4replay/export.h>
#include <e4replay/free_extents.h>
#include <e4replay/image.h>
#include <e4replay/recording.h>
#include <e4replay/result.h>

namespace e4replay {

// Flags of a request, with the kernel's values (EXT4_MB_*, fs/ext4/ext4.h, Linux 6.1).
namespace request_flag {
inline constexpr std::uint32_t merge = 0x0001;
inline constexpr std::uint32_t data = 0x0020;  // set for file data, clear for metadata
inline constexpr std::uint32_t noprealloc = 0x0040;
inline constexpr std::uint32_t goal_only = 0x0100;
inline constexpr std::uint32_t try_goal = 0x0200;
inline constexpr std::uint32_t delalloc_reserved = 0x0400;
inline constexpr std::uint32_t use_root_blocks = 0x1000;
inline constexpr std::uint32_t use_reserved = 0x2000;
}  // namespace request_flag

// An allocation request as the allocator receives it (struct ext4_allocation_request).
struct Request {
  std::uint64_t ino = 0;        // must not be 0
  std::uint32_t len = 0;        // clusters, 1 to clusters_per_group
  std::uint32_t logical = 0;    // first file block of the clusters
  std::uint64_t goal = 0;       // device block to allocate near; 0: the first block
  std::uint64_t file_size = 0;  // bytes (i_size)
  bool open_for_write = true;   // a process has the file open for writing
  std::uint32_t flags = request_flag::data;
  std::uint32_t cpu = 0;  // selects the preallocations that small files share
  // The nearest mapped blocks of the file before and after the requested ones. A device block of 0
  // means that the file has no such block.
  std::uint64_t left_block = 0, right_block = 0;      // device blocks
  std::uint32_t left_logical = 0, right_logical = 0;  // file blocks
};

// A run of clusters in one group, and its first block in the file.
struct Extent {
  std::uint32_t group = 0;
  std::uint32_t start = 0;    // cluster in the group
  std::uint32_t len = 0;      // clusters
  std::uint32_t logical = 0;  // file block
};

// The outcome of a request.
struct Decision {
  bool success = false;       // false if there is no space
  bool preallocated = false;  // a preallocation served it, without a search
  std::uint64_t block = 0;    // the first block handed out
  std::uint32_t len = 0;      // clusters handed out; no more than requested
  // `start` is 4,294,967,295 (the kernel's -1) if the goal names no particular cluster.
  Extent goal;
  Extent result;  // the extent that was taken; clusters beyond `len` are preallocated
  Criterion criterion = Criterion::unknown;  // the criterion that ended the search
  std::uint32_t extents_examined = 0;
  std::uint32_t groups_scanned = 0;
  std::uint32_t flags = 0;  // the request's flags, plus flags that the search set
};

// What the allocator has in memory about a group.
struct GroupState {
  std::uint32_t free_clusters = 0;  // preallocated clusters are not free
  std::uint32_t free_runs = 0;      // runs of free clusters; 0 unless `loaded`
  // order of the largest free buddy chunk; -1: no free chunk, or not loaded
  std::int32_t largest_order = -1;
  bool loaded = false;   // its buddy has been generated
  bool damaged = false;  // the allocator avoids it
};

// A counter of /proc/fs/ext4/DEVICE/mb_stats. The name of a counter inside a section begins with
// the section: "reqs", but "cr0_stats/hits".
struct Counter {
  std::string name;
  std::uint64_t value = 0;
};

struct AllocatorOptions {
  std::string policy = "legacy";           // a policy's name, "kernel:FILE" or "FILE.so"
  std::vector<std::string> settings = {};  // tunables, each as NAME=VALUE
  bool loaded = false;                     // start with the buddy of every group in memory
};

// The block allocator of a mounted file system, together with the state of that file system. Never
// writes to the image.
//
// Movable. Not thread-safe, but two threads may use two allocators, even of the same Image.
class Allocator {
 public:
  // Starts from the image's file system as if it had just been mounted. The tunables are the
  // kernel's defaults, changed by the settings. Errors: an unknown policy; an invalid setting (the
  // message lists the valid ones); an image that was opened without bitmaps; with the policy
  // "kernel:FILE", a kernel that does not boot.
  [[nodiscard]] E4REPLAY_API static Result<Allocator> create(const Image& image,
                                                             const AllocatorOptions& options = {});
  // Starts from the start image, the mount options and the tunables of a recording. Errors: as for
  // the other create().
  [[nodiscard]] E4REPLAY_API static Result<Allocator> create(const Recording& recording,
                                                             const AllocatorOptions& options = {});
  E4REPLAY_API Allocator(Allocator&&) noexcept;
  E4REPLAY_API Allocator& operator=(Allocator&&) noexcept;
  E4REPLAY_API ~Allocator();

  // Serves one request. If there is no space, `success` is false. Errors: an invalid request, which
  // changes nothing; with the policy "kernel:FILE", a kernel that has ended.
  [[nodiscard]] E4REPLAY_API Result<Decision> allocate(const Request& request);
  // Frees the blocks [first, first + count), which must be whole clusters. They can be allocated
  // again once the running transaction has committed, or at once if there is no journal.
  // `file_data` says whether they belong to a regular file. Errors: blocks that are not in use, are
  // metadata or do not exist. After an error, the blocks in earlier groups have been freed.
  [[nodiscard]] E4REPLAY_API Status free(std::uint64_t first, std::uint64_t count,
                                         bool file_data = true);
  // Commits the running transaction. The blocks that it freed can then be allocated.
  E4REPLAY_API void commit();
  // Discards preallocations of the inode: the `needed` least recently used ones, or all if `needed`
  // is 0.
  E4REPLAY_API void discard(std::uint64_t ino, std::uint32_t needed = 0);
  // Tell the allocator that the inode was created or deleted. Both discard the inode's
  // preallocations.
  E4REPLAY_API void make_inode(std::uint64_t ino);
  E4REPLAY_API void drop_inode(std::uint64_t ino);

  // ---- The current state. With the policy "kernel:FILE", only bitmap() and free_extents() reflect
  // the kernel's decisions.

  // The group's state. Error: `number` is not below FileSystem::groups.
  [[nodiscard]] E4REPLAY_API Result<GroupState> group(std::uint32_t number) const;
  // The group's bitmap as it would be after a sync and an unmount: preallocations are discarded and
  // freed clusters are free. The format is that of Image::bitmap(). Empty if the group does not
  // exist.
  [[nodiscard]] E4REPLAY_API std::vector<std::uint64_t> bitmap(std::uint32_t number) const;
  // Counts the free extents in the bitmaps that bitmap() returns, with chunks of 1 MiB.
  [[nodiscard]] E4REPLAY_API FreeExtents free_extents() const;
  // The counters of mb_stats, with the names of Linux 6.1, in the kernel's order.
  [[nodiscard]] E4REPLAY_API std::vector<Counter> counters() const;
  // Reports broken invariants of the model, one line for each, at most `limit` lines.
  [[nodiscard]] E4REPLAY_API std::vector<std::string> check(std::uint64_t limit = 10) const;

 private:
  friend class Access;
  struct Data;
  explicit Allocator(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace e4replay
