// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/container/map.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ext4/geometry.h"
#include "replay/file_shifts.h"
#include "util/recent_map.h"

namespace e4r::replay {

// The blocks of one file as a replay has placed them: disjoint extents in logical order. Extents
// that are contiguous both in the file and on the device are merged.
class FileLayout {
 public:
  // Maps the file blocks of the extent. Replaces their previous mapping.
  void map(const FileExtent& extent);

  // Removes the file blocks [logical, logical + len). Appends their device ranges to `out`, in
  // logical order.
  void unmap(std::uint64_t logical, std::uint64_t len, std::vector<BlockRange>& out);

  // Moves the extents after the range that was removed or inserted. Appends the device ranges that
  // a removed range still had to `out`. Does nothing if the file would become too long.
  void shift(const FileShift& shift, std::vector<BlockRange>& out);

  // The extent that holds file block `logical`, or null.
  [[nodiscard]] const FileExtent* find(std::uint64_t logical) const {
    return logical >= end() ? nullptr : find_below_end(logical);
  }
  // The nearest extent that lies wholly below `logical`, and the nearest at or above it; null if
  // there is no such extent.
  [[nodiscard]] const FileExtent* left_of(std::uint64_t logical) const;
  [[nodiscard]] const FileExtent* right_of(std::uint64_t logical) const {
    return logical >= end() ? nullptr : &extents_[first_ending_after(logical)];
  }

  [[nodiscard]] std::span<const FileExtent> extents() const { return extents_; }

 private:
  // One past the last file block; 0 for an empty file.
  [[nodiscard]] std::uint64_t end() const { return extents_.empty() ? 0 : extents_.back().end(); }
  [[nodiscard]] const FileExtent* find_below_end(std::uint64_t logical) const;
  [[nodiscard]] std::size_t first_ending_after(std::uint64_t logical) const;

  std::vector<FileExtent> extents_;
};

// Files by inode. Adding or removing a file moves the others.
using FileLayouts = boost::unordered_flat_map<std::uint64_t, FileLayout>;

// Assigns files to writers. Each round of new files gives every writer one file, in an order that
// differs from round to round. If the order were always the same, all inode numbers of one writer
// would have the same remainder modulo the number of writers. The same would be true of their
// stream goals, because since 6.17 the inode number selects the stream goal.
class FileWriters {
 public:
  // There must be at least one writer.
  explicit FileWriters(unsigned writers) : count_(writers) {}
  // Assigns the file to a writer, unless that was done before.
  void add(std::uint64_t ino);
  // Returns the file's writer, or the first writer if the file was not added.
  [[nodiscard]] unsigned of(std::uint64_t ino) const {
    const auto found = of_.find(ino);
    return found == of_.end() ? 0 : found->second;
  }
  [[nodiscard]] unsigned count() const { return count_; }

 private:
  unsigned count_;
  boost::unordered_flat_map<std::uint64_t, unsigned> of_;
};

// Maps each recorded device block to the file block or metadata block that it holds, and to its
// place in the replay. A block that the trace did not allocate maps to itself. With several
// writers, each has its own recorded blocks, because requests are not in the recorded order: one
// writer may get a block before another has freed it.
class Translation {
 public:
  // `writers` is null if there is one writer.
  explicit Translation(std::shared_ptr<const FileWriters> writers = nullptr)
      : writers_(std::move(writers)) {}

  // The file's blocks in the replay. Valid until file() or forget() is called for another file.
  [[nodiscard]] FileLayout& file(std::uint64_t ino) { return files_[ino]; }
  [[nodiscard]] const FileLayouts& files() const { return files_.all(); }

  // Records that the kernel put `len` blocks of file `ino`, from file block `logical` on, at
  // `block`.
  void recorded_data(std::uint64_t ino, std::uint64_t logical, std::uint64_t block,
                     std::uint64_t len);
  // Records that the kernel put `len` blocks of the file's metadata at `block`. The replay put them
  // at `here`, or found no place for them (0).
  void recorded_metadata(std::uint64_t ino, std::uint64_t block, std::uint64_t here,
                         std::uint64_t len);

  // The place of a recorded block of the file in the replay: the block itself if the trace did not
  // allocate it, 0 if the replay found no place for it.
  [[nodiscard]] std::uint64_t find(std::uint64_t ino, std::uint64_t block) const;

  // Call this when the kernel freed recorded blocks of the file. Forgets them and appends to `out`
  // the ranges to free in the replay, with neighbours joined.
  void free(std::uint64_t ino, const BlockRange& recorded, std::vector<BlockRange>& out);

  // Call this when fallocate() was called to remove or insert a range of the file.
  void announce_shift(std::uint64_t ino, const FileShift& shift, std::vector<BlockRange>& out);
  // Call this before a request for file data is served, with the file block after its range and its
  // neighbours in the recorded layout (block 0: no neighbour). Moves the file's data if a range was
  // removed or inserted. Appends the blocks that a removed range still has in the replay to `out`.
  void settle_shifts(std::uint64_t ino, std::uint64_t end, const Neighbour& left,
                     const Neighbour& right, std::vector<BlockRange>& out);
  // The same at the end of a run, for all files.
  void settle_shifts(std::vector<BlockRange>& out);
  // Whether the file has shifts to settle.
  [[nodiscard]] bool has_waiting_shifts(std::uint64_t ino) const {
    return shifts_.has_waiting(ino);
  }

  // Call this when the inode was deleted. Appends the blocks that it still owns in the replay to
  // `out`, and forgets the file.
  void forget(std::uint64_t ino, std::vector<BlockRange>& out);

 private:
  struct Run {
    std::uint64_t len;
    std::uint32_t ino;     // 0: metadata
    std::uint32_t shifts;  // how many shifts of the file `place` takes into account
    std::uint64_t place;   // file block, or for metadata the block in the replay (0: no block)
  };
  using Runs = boost::container::map<std::uint64_t, Run>;
  // The key of a recorded block has the writer's number above these bits.
  static constexpr unsigned kBlockBits = 48;
  static constexpr std::uint64_t kBlock = (1ull << kBlockBits) - 1;

  [[nodiscard]] std::uint64_t key(std::uint64_t ino, std::uint64_t block) const {
    if (writers_ == nullptr) return block;
    return std::uint64_t{writers_->of(ino)} << kBlockBits | block;
  }

  // Whether the recorded blocks of `run`, from `block` on, continue the blocks of `left`.
  [[nodiscard]] static bool continues(const Runs::value_type& left, std::uint64_t block,
                                      const Run& run) {
    return left.first + left.second.len == block && left.second.ino == run.ino &&
           left.second.shifts == run.shifts && place_of(left.second, left.second.len) == run.place;
  }
  [[nodiscard]] bool add_to_recent(std::uint64_t block, const Run& run);
  [[nodiscard]] Runs::const_iterator holder(std::uint64_t key) const;
  void erase(Runs::iterator& it);
  // The `place` of the block at `offset` in the run.
  [[nodiscard]] static std::uint64_t place_of(const Run& run, std::uint64_t offset);
  // The rest of the run from `offset` on.
  [[nodiscard]] static Run rest_of(const Run& run, std::uint64_t offset) {
    return {run.len - offset, run.ino, run.shifts, place_of(run, offset)};
  }
  // The present file block of a recorded block of the file; nullopt if it is not known.
  [[nodiscard]] std::optional<std::uint64_t> present_place(std::uint64_t ino,
                                                           const Neighbour& neighbour) const;
  void settle_shifts(std::uint64_t ino, const FileShifts::Shown& shown,
                     std::vector<BlockRange>& out);
  void add(std::uint64_t block, const Run& run);
  [[nodiscard]] bool overlap(const Runs::const_iterator& after, std::uint64_t block,
                             std::uint64_t len) const;
  void forget_recorded(Runs::iterator it, std::uint64_t block, std::uint64_t len);
  void release(const Run& run, std::uint64_t offset, std::uint64_t len,
               std::vector<BlockRange>& out);

  std::shared_ptr<const FileWriters> writers_;
  RecentMap<FileLayouts> files_;
  FileShifts shifts_;
  Runs runs_;                            // by key of the recorded block, disjoint
  Runs::iterator recent_ = runs_.end();  // the run that was last extended
};

// Joins each range with its predecessor if it continues the predecessor.
void join_neighbours(std::vector<BlockRange>& ranges);

}  // namespace e4r::replay
