// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "image/fs_info.h"
#include "image/input_file.h"
#include "image/layout.h"

namespace e4r::image {

// Reads block bitmaps from their own blocks, neighbouring ones in one read. One per thread: the
// buffers are its own, the groups whose fault it sets are those it was asked for.
class BitmapReader {
 public:
  struct Source {
    const InputFile& file;
    const SuperblockInfo& superblock;
    const Layout& layout;
    std::span<GroupInfo> groups;
    ext2_filsys fs;
  };
  using Visit = std::function<void(GroupNumber group, std::span<const std::uint64_t> words)>;

  explicit BitmapReader(const Source& source);

  // Visits groups [first, last) in order with their bitmaps as Image::bitmap() describes them,
  // and sets the fault of those that turn out bad.
  void read(GroupNumber first, GroupNumber last, const Visit& visit);

 private:
  [[nodiscard]] bool on_disk(GroupNumber group) const;
  [[nodiscard]] GroupNumber end_of_run(GroupNumber first, GroupNumber last) const;
  void fetch(GroupNumber first, GroupNumber end);
  [[nodiscard]] GroupFault decode(GroupNumber group, std::span<const std::byte> raw);
  void load(GroupNumber group, GroupNumber run_first);
  [[nodiscard]] std::span<std::byte> slot(std::size_t index, std::size_t count = 1);

  Source source_;
  std::vector<std::byte> buffer_;     // bitmap blocks of the current run
  std::vector<bool> readable_;        // per block of the run
  std::vector<std::uint64_t> words_;  // the group being visited
};

}  // namespace e4r::image
