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

// Reads block bitmaps from their blocks, adjacent ones in one read. Use one reader per thread. A
// reader has its own buffers and sets the faults only of the groups that it is asked to read.
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

  // Visits the groups [first, last) in order, with bitmaps as from Image::bitmap(). Sets the fault
  // of each group that turns out bad.
  void read(GroupNumber first, GroupNumber last, const Visit& visit);

 private:
  [[nodiscard]] bool on_disk(GroupNumber group) const;
  [[nodiscard]] GroupNumber end_of_run(GroupNumber first, GroupNumber last) const;
  void fetch(GroupNumber first, GroupNumber end);
  [[nodiscard]] GroupFault decode(GroupNumber group, std::span<const std::byte> raw);
  void load(GroupNumber group, GroupNumber run_first);
  [[nodiscard]] std::span<std::byte> slot(std::size_t index, std::size_t count = 1);

  Source source_;
  std::vector<std::byte> buffer_;     // the bitmap blocks of the current run
  std::vector<bool> readable_;        // one entry per block of the run
  std::vector<std::uint64_t> words_;  // the bitmap of the group under visit
};

}  // namespace e4r::image
