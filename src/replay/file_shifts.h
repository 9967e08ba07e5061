// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace e4r::replay {

// fallocate() removed `count` file blocks from `at` on (FALLOC_FL_COLLAPSE_RANGE), or inserted so
// many there (FALLOC_FL_INSERT_RANGE). The file's data after that place has other file blocks now,
// but the same device blocks.
struct FileShift {
  std::uint64_t at = 0;
  std::uint64_t count = 0;
  bool inserts = false;

  // The file block to which the data of file block `logical` has moved; nullopt if it was removed.
  [[nodiscard]] std::optional<std::uint64_t> move(std::uint64_t logical) const {
    if (logical < at) return logical;
    if (inserts) return logical + count;
    return logical < at + count ? std::nullopt : std::optional(logical - count);
  }
};

// A device block that the recorded kernel names with its file block.
struct Neighbour {
  std::uint64_t logical = 0;
  std::uint64_t block = 0;
};

// The shifts of every file. The kernel announces a shift before it removes the blocks of the range,
// and the call may still fail. So a shift waits until the file's next request shows the result.
class FileShifts {
 public:
  // Whether no file has any shift.
  [[nodiscard]] bool empty() const { return files_.empty(); }
  // Whether a shift of the file waits.
  [[nodiscard]] bool has_waiting(std::uint64_t ino) const;
  // Adds a shift that waits. Returns a shift that must take effect at once, because too many wait.
  [[nodiscard]] std::optional<FileShift> add(std::uint64_t ino, const FileShift& shift);
  void forget(std::uint64_t ino) { files_.erase(ino); }
  // The files that have shifts.
  [[nodiscard]] std::vector<std::uint64_t> files() const;

  // How many shifts of the file have taken effect.
  [[nodiscard]] std::uint32_t count(std::uint64_t ino) const;
  // The present file block of the data that had file block `logical` when `since` shifts had taken
  // effect; nullopt if it was removed since then.
  [[nodiscard]] std::optional<std::uint64_t> move(std::uint64_t ino, std::uint32_t since,
                                                  std::uint64_t logical) const;
  // A piece of a run of blocks: its offset in the run, its present file block and its length.
  struct Piece {
    std::uint64_t offset, logical, len;
  };
  // The same for `len` blocks from `logical` on, without the blocks that were removed.
  [[nodiscard]] std::vector<Piece> move(std::uint64_t ino, std::uint32_t since,
                                        std::uint64_t logical, std::uint64_t len) const;

  // What a request says about its file.
  struct Shown {
    std::uint64_t end;                                 // file block after the request
    std::optional<std::uint64_t> left, right;          // file blocks of its neighbours
    std::optional<std::uint64_t> was_left, was_right;  // the same blocks as numbered so far
  };
  // Whether any file block from `first` to `last` has a device block, as numbered so far.
  using IsMapped = std::function<bool(std::uint64_t first, std::uint64_t last)>;
  // Removes the waiting shifts of the file and returns those that have taken effect: as many as
  // possible, so that the neighbours have the file blocks that the request shows, and so that all
  // removed ranges are empty. Returns nothing, and lets the shifts wait, if they do not matter to
  // the request.
  [[nodiscard]] std::vector<FileShift> settle(std::uint64_t ino, const Shown& shown,
                                              const IsMapped& is_mapped);

 private:
  static constexpr std::size_t kMostWaiting = 6;
  struct File {
    std::vector<FileShift> applied, waiting;
  };
  boost::unordered_flat_map<std::uint64_t, File> files_;
};

}  // namespace e4r::replay
