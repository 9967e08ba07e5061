// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ext4/criterion.h"
#include "util/status.h"

namespace e4r::trace {

// The kinds of events. events.def lists and explains them.
enum class EventKind : std::uint8_t {
#define E4R_EVENT(kind, tag, name, body, model, want) kind,
#include "trace/events.def"
};
inline constexpr int kEventKinds = 0
#define E4R_EVENT(kind, tag, name, body, model, want) +1  // NOLINT(bugprone-macro-parentheses)
#include "trace/events.def"
    ;

// A counter for each kind of event.
using KindCounts = std::array<std::uint64_t, kEventKinds>;

// The tracepoint's name, as in "ext4_request_blocks"; "lost_events" for the marker.
[[nodiscard]] std::string_view event_name(EventKind kind);
// The tracepoint's subsystem, which is its directory in events/ of tracefs: "ext4" or "jbd2";
// "e4replay" for the recorder's probes.
[[nodiscard]] std::string_view event_system(EventKind kind);

// The kernel generation that printed the trace. v6_5: the trace has criterion names or five rungs.
// cr1_5: 6.1 with this project's CR1.5 series (five rungs with their own names).
enum class Generation : std::uint8_t { unknown, v6_1, cr1_5, v6_5 };
[[nodiscard]] std::string_view generation_name(Generation generation);

// ext4_free_blocks flags (EXT4_FREE_BLOCKS_*, fs/ext4/ext4.h, 6.1).
namespace fb {
inline constexpr std::uint32_t metadata = 0x0001;
inline constexpr std::uint32_t forget = 0x0002;
inline constexpr std::uint32_t validated = 0x0004;
inline constexpr std::uint32_t no_quota = 0x0008;
inline constexpr std::uint32_t nofree_first_cluster = 0x0010;
inline constexpr std::uint32_t nofree_last_cluster = 0x0020;
}  // namespace fb

// Flags of an entry in an extent status tree (EXTENT_STATUS_*, fs/ext4/extents_status.h, 6.1). The
// trace prints a letter for each: W U D H R.
namespace es {
inline constexpr std::uint32_t written = 0x01;
inline constexpr std::uint32_t unwritten = 0x02;
inline constexpr std::uint32_t delayed = 0x04;
inline constexpr std::uint32_t hole = 0x08;
inline constexpr std::uint32_t referenced = 0x10;  // looked up since the shrinker last passed it
}  // namespace es

// A run of clusters in one group as a trace prints it, "group/start/len@logical". The numbers are
// unchecked. `start` is -1 if the kernel gave no start. `start` and `len` are in clusters;
// `logical` is a file block. The model works on checked Extents.
struct RecordedExtent {
  std::uint32_t group = 0;
  std::int32_t start = 0;
  std::uint32_t len = 0;
  std::uint32_t logical = 0;
  friend bool operator==(const RecordedExtent&, const RecordedExtent&) = default;
};

// One event as plain data, in the same form for every trace format. Fields that a kind does not use
// are 0. The fields of each kind:
//   request_blocks, allocate_blocks   ino flags count(len, blocks) logical goal
//                                     left_logical(lleft) right_logical(lright) left_block(pleft)
//                                     right_block(pright); block (result, allocate only); i_size
//                                     and i_writecount when has_inputs
//   mballoc_alloc                     ino orig goal_ex result found groups criterion flags tail
//                                     broken; orig_goal_len (kernels with the CR1.5 series)
//   mballoc_prealloc                  ino orig result
//   new_*_pa, release_inode_pa        ino block(pstart) count(len) logical(lstart)
//   release_group_pa                  block count
//   discard_preallocations            ino count(len) needed
//   mb_discard_preallocations         count(needed)
//   free_blocks                       ino mode block count flags
//   mballoc_free, mballoc_discard     ino result(group start len)
//   buddy_bitmap_load, bitmap_load    group
//   prefetch_bitmaps                  group(first) count(the group after the last) needed(reads)
//   allocate_inode                    ino parent(dir) mode
//   free_inode                        ino mode
//   commit_flushing, end_commit       block(transaction)
//   es_insert_extent, es_cache_extent, es_insert_delayed_block
//                                     ino logical count(len) block(mapped; 0 when not) flags(es::)
//   es_remove_extent                  ino logical count(len)
//   es_lookup_enter                   ino logical
//   es_lookup_exit                    ino found(0 or 1) logical count(len) block flags(es::)
//   es_shrink_scan_enter              needed(entries to scan) count(reclaimable entries)
//   es_shrink_scan_exit               found(entries reclaimed) count(as above)
//   es_shrink                         found(entries reclaimed) count(microseconds) needed(inodes
//                                     passed over) tail(1: a second round was made); groups(entries
//                                     visited) when has_inputs (kernels with the es-shrinker
//                                     series)
//   discard_blocks                    block count
//   trim_all_free                     group logical(first cluster) count(last cluster, which
//                                     the trace calls len)
//   collapse_range, insert_range      ino logical(offset, bytes) count(len, bytes)
//   mark_used, mark_freed              group logical(first cluster) count(clusters)
//   lost_events                       count
struct Event {
  EventKind kind = EventKind::lost_events;
  mb::Criterion criterion = mb::Criterion::unknown;
  bool has_inputs = false;  // the fields that only this project's kernels print are valid
  std::uint16_t cpu = 0;
  std::uint16_t mode = 0;
  std::uint32_t pid = 0;
  std::uint32_t dev = 0;      // see make_dev()
  std::uint32_t flags = 0;    // mb::, fb:: or es::
  std::uint64_t time_ns = 0;  // on the recorder's clock
  std::uint64_t ino = 0;
  std::uint64_t block = 0;
  std::uint64_t count = 0;
  std::uint64_t logical = 0;
  std::uint64_t goal = 0;  // blocks
  std::uint64_t left_block = 0, right_block = 0;
  std::uint32_t left_logical = 0, right_logical = 0;
  std::uint32_t group = 0;
  std::uint32_t needed = 0;
  std::uint64_t parent = 0;
  RecordedExtent orig, goal_ex, result;
  std::uint32_t found = 0;   // 16 bits in the trace, so compare modulo 65536
  std::uint32_t groups = 0;  // 16 bits as well
  std::uint32_t tail = 0;
  std::uint32_t broken = 0;
  std::uint32_t orig_goal_len = 0;  // clusters of goal_ex before it was trimmed; 0: unknown
  std::uint64_t i_size = 0;
  std::int32_t i_writecount = 0;
  friend bool operator==(const Event&, const Event&) = default;
};

// Event::dev has the kernel's internal form: the minor number in the lower 20 bits, the major
// number in the upper 12 (MINORBITS in include/linux/kdev_t.h, 6.1).
inline constexpr unsigned kMinorBits = 20;
inline constexpr std::uint32_t kMaxMinor = (1U << kMinorBits) - 1, kMaxMajor = (1U << 12) - 1;
[[nodiscard]] constexpr std::uint32_t dev_major(std::uint32_t dev) {
  return dev >> kMinorBits;
}
[[nodiscard]] constexpr std::uint32_t dev_minor(std::uint32_t dev) {
  return dev & kMaxMinor;
}
[[nodiscard]] constexpr std::uint32_t make_dev(std::uint32_t major, std::uint32_t minor) {
  return major << kMinorBits | minor;
}
// Sets `dev` from the two numbers. Returns false if one of them is too large.
[[nodiscard]] constexpr bool set_dev(std::uint32_t major, std::uint32_t minor, std::uint32_t& dev) {
  if (major > kMaxMajor || minor > kMaxMinor) return false;
  dev = make_dev(major, minor);
  return true;
}

// The maximum number of events that this directory's readers deliver at once.
inline constexpr std::size_t kBatchEvents = 256;

// A stream of events in recorded order. Not thread-safe.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // Returns the next batch, valid until the next call. Returns an empty batch at the end of the
  // trace and on every later call. An Error names the file and the line (text) or offset (.e4t).
  [[nodiscard]] virtual Result<std::span<const Event>> next() = 0;
};

struct TraceSummary;

// The device chosen from several, with the reason, such as "the one that fits the image".
struct DeviceChoice {
  std::uint32_t dev = 0;
  std::string why;
};

// Observes the events that a reader delivers, in recorded order.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void see(std::span<const Event> events) = 0;
  // Discards everything seen so far. The reader then delivers the same events again from the first,
  // or other events.
  virtual void restart() = 0;
  // Called after the last event if the trace has several devices. Returns the device to use, or
  // nullopt to leave the choice to the reader.
  [[nodiscard]] virtual std::optional<DeviceChoice> prefers(const TraceSummary& summary) const {
    (void)summary;
    return std::nullopt;
  }
};

}  // namespace e4r::trace
