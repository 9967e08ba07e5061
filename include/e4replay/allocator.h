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

// Flags of a request, as the kernel numbers them (EXT4_MB_*, fs/ext4/ext4.h, Linux 6.1).
namespace request_flag {
inline constexpr std::uint32_t merge = 0x0001;
inline constexpr std::uint32_t data = 0x0020;  // for a file's data; without it: metadata
inline constexpr std::uint32_t noprealloc = 0x0040;
inline constexpr std::uint32_t goal_only = 0x0100;
inline constexpr std::uint32_t try_goal = 0x0200;
inline constexpr std::uint32_t delalloc_reserved = 0x0400;
inline constexpr std::uint32_t use_root_blocks = 0x1000;
inline constexpr std::uint32_t use_reserved = 0x2000;
}  // namespace request_flag

// An allocation request as the allocator receives it (struct ext4_allocation_request).
struct Request {
  std::uint64_t ino = 0;        // not 0
  std::uint32_t len = 0;        // clusters, 1 to clusters_per_group
  std::uint32_t logical = 0;    // block of the file where they belong
  std::uint64_t goal = 0;       // block of the device to be near to; 0: the first one
  std::uint64_t file_size = 0;  // bytes (i_size)
  bool open_for_write = true;   // somebody has the file open for writing
  std::uint32_t flags = request_flag::data;
  std::uint32_t cpu = 0;  // small files share a preallocation of their CPU
  // The mapped blocks next to these in the file, before and behind; a block of 0: there is none.
  std::uint64_t left_block = 0, right_block = 0;      // of the device
  std::uint32_t left_logical = 0, right_logical = 0;  // of the file
};

// A run of clusters in one group, and the block of the file that it begins with.
struct Extent {
  std::uint32_t group = 0;
  std::uint32_t start = 0;    // cluster in the group
  std::uint32_t len = 0;      // clusters
  std::uint32_t logical = 0;  // block of the file
};

// What became of a request.
struct Decision {
  bool success = false;       // false: no space
  bool preallocated = false;  // served from a preallocation, without a search
  std::uint64_t block = 0;    // first block handed out
  std::uint32_t len = 0;      // clusters handed out, at most as many as were asked for
  Extent goal;    // what was searched for; a start of 4,294,967,295 is the kernel's -1: no place
  Extent result;  // what was taken; more than `len` are preallocated
  Criterion criterion = Criterion::unknown;  // that ended the search
  std::uint32_t extents_examined = 0;
  std::uint32_t groups_scanned = 0;
  std::uint32_t flags = 0;  // of the request, and those that the search has set
};

// A group as the allocator knows it.
struct GroupState {
  std::uint32_t free_clusters = 0;  // preallocated ones are not free
  std::uint32_t free_runs = 0;      // runs of free clusters; 0 unless `loaded`
  std::int32_t largest_order = -1;  // of the largest free buddy chunk; -1: none, or not loaded
  bool loaded = false;              // its buddy has been generated
  bool damaged = false;             // nothing is allocated in it
};

// A counter of /proc/fs/ext4/DEVICE/mb_stats: its name, with the section in front ("reqs",
// "cr0_stats/hits"), and its value.
struct Counter {
  std::string name;
  std::uint64_t value = 0;
};

struct AllocatorOptions {
  std::string policy = "legacy";           // its name, "kernel:FILE" or "FILE.so"
  std::vector<std::string> settings = {};  // tunables, each as NAME=VALUE
  bool loaded = false;                     // the buddies of all groups are in memory to begin with
};

// The block allocator of a mounted file system: it decides, and keeps the state for which it
// decides. The image itself is never written to.
//
// Movable. Not thread-safe; two allocators may be used in two threads, also of the same Image.
class Allocator {
 public:
  // Begins with the file system as the image has it, just mounted. The tunables are the kernel's
  // defaults for it, but for the settings. Errors: an unknown policy, or a setting that is none
  // (the message lists those there are); an image that was opened without bitmaps; a kernel that
  // does not boot.
  [[nodiscard]] E4REPLAY_API static Result<Allocator> create(const Image& image,
                                                             const AllocatorOptions& options = {});
  // The same with the start image, mount and tunables of a recording.
  [[nodiscard]] E4REPLAY_API static Result<Allocator> create(const Recording& recording,
                                                             const AllocatorOptions& options = {});
  E4REPLAY_API Allocator(Allocator&&) noexcept;
  E4REPLAY_API Allocator& operator=(Allocator&&) noexcept;
  E4REPLAY_API ~Allocator();

  // Serves one request. No space is a Decision without success. Errors: a request that no file
  // system makes, and nothing changes; a kernel that ended.
  [[nodiscard]] E4REPLAY_API Result<Decision> allocate(const Request& request);
  // Frees blocks [first, first + count), whole clusters. They can be allocated again after the
  // running transaction has committed, or at once without a journal. `file_data`: they are a
  // regular file's. Errors: blocks that are not in use, are metadata or do not exist. Groups in
  // front of the one in which the first error lies have been freed.
  [[nodiscard]] E4REPLAY_API Status free(std::uint64_t first, std::uint64_t count,
                                         bool file_data = true);
  // The running transaction commits: what was freed in it is free.
  E4REPLAY_API void commit();
  // Gives back what is preallocated for the inode: all, or the `needed` least recently used
  // preallocations when that is not 0.
  E4REPLAY_API void discard(std::uint64_t ino, std::uint32_t needed = 0);
  // An inode was made, or is gone: its preallocations go.
  E4REPLAY_API void make_inode(std::uint64_t ino);
  E4REPLAY_API void drop_inode(std::uint64_t ino);

  // ---- The state, as it is now. What a kernel decides is followed by its bitmaps alone.

  // `number` is below FileSystem::groups; else the Error says so.
  [[nodiscard]] E4REPLAY_API Result<GroupState> group(std::uint32_t number) const;
  // The group's bitmap as it would be after a sync and an unmount: preallocations given back, freed
  // clusters free. As Image::bitmap() has it; empty when there is no such group.
  [[nodiscard]] E4REPLAY_API std::vector<std::uint64_t> bitmap(std::uint32_t number) const;
  // Free extents by the same bitmaps, with chunks of 1 MiB.
  [[nodiscard]] E4REPLAY_API FreeExtents free_extents() const;
  // mb_stats under the names of Linux 6.1, in the kernel's order.
  [[nodiscard]] E4REPLAY_API std::vector<Counter> counters() const;
  // Every broken invariant of the model, one line each, at most `limit` of them.
  [[nodiscard]] E4REPLAY_API std::vector<std::string> check(std::uint64_t limit = 10) const;

 private:
  friend class Access;
  struct Data;
  explicit Allocator(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace e4replay
