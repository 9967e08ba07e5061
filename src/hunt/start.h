// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hunt/candidate.h"
#include "image/image.h"
#include "state/fs_state.h"
#include "util/fd.h"

namespace e4r::hunt {

// Makes a new file system of `bytes` bytes with the given block size. Returns a path that stays
// valid during the hunt.
using ImageMaker =
    std::function<Result<std::string>(std::uint64_t bytes, std::uint32_t block_size)>;

// The initial file system of a candidate. Files of its past are used blocks without an owner.
class Start {
 public:
  Start(std::shared_ptr<const image::Image> image, std::vector<std::vector<std::uint64_t>> bitmaps);
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  [[nodiscard]] const image::SuperblockInfo& superblock() const { return image_->superblock(); }
  [[nodiscard]] const state::Source& source() const { return source_; }
  [[nodiscard]] std::uint64_t free_blocks() const;
  // The path of its image. The first call makes the image, and the destructor removes it.
  [[nodiscard]] Result<std::string> path() const;

 private:
  const std::shared_ptr<const image::Image> image_;
  const std::vector<std::vector<std::uint64_t>> bitmaps_;  // by group; empty: as in the image
  state::Source source_;
  mutable std::mutex mutex_;  // guards the members below
  mutable Fd file_;
};

// Makes starts, and caches the new file systems behind them. Thread-safe.
class Starts {
 public:
  explicit Starts(ImageMaker make) : make_(std::move(make)) {}

  // Returns null if the age does not fit into a file system of that size. Errors: the image cannot
  // be made.
  [[nodiscard]] Result<std::shared_ptr<const Start>> make(const Origin& origin);

 private:
  [[nodiscard]] Result<std::shared_ptr<const image::Image>> image_of(std::uint64_t bytes,
                                                                     std::uint32_t block_size);
  ImageMaker make_;
  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::shared_ptr<const image::Image>> images_;
};

}  // namespace e4r::hunt
