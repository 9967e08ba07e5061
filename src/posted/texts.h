// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ext4/geometry.h"
#include "state/group.h"
#include "util/status.h"

// Reads texts about a file system that people post when they ask for help.
namespace e4r::posted {

// The output of e2freefrag.
struct ExtentText {
  std::uint32_t block_size = 0;  // bytes
  std::uint64_t blocks = 0;      // size of the file system
  std::uint64_t free = 0;        // blocks
  std::uint64_t count = 0;       // free extents
  std::uint64_t min_kib = 0, max_kib = 0;
  std::uint64_t chunk_bytes = 0;  // 0 if the text has no line about chunks
  std::uint64_t free_chunks = 0;
  struct Bucket {
    std::uint64_t least = 0, most = 0;  // length of an extent, in blocks
    std::uint64_t extents = 0, blocks = 0;
  };
  std::vector<Bucket> buckets;  // ascending
};

// The output of dumpe2fs.
struct SuperblockText {
  std::uint32_t block_size = 0, cluster_size = 0;  // bytes; a cluster_size of 0 means one block
  std::uint64_t blocks = 0;
  std::uint64_t reserved = 0;  // blocks
  std::uint64_t clusters_or_blocks_per_group = 0;
  std::uint64_t inodes = 0, inode_size = 0;
  std::uint64_t flex_groups = 0;  // 0 if not given
  std::uint64_t stride = 0, stripe_width = 0;
  std::string journal;  // "128M"; empty if not given
  std::vector<std::string> features;
  // The free blocks of all groups, ascending. No value for dumpe2fs -h, which does not print them.
  std::optional<std::vector<BlockRange>> free;
};

struct Texts {
  std::optional<ExtentText> extents;
  std::optional<SuperblockText> superblock;
  std::vector<state::MbGroup> groups;         // from mb_groups
  std::optional<std::uint64_t> groups_count;  // from mb_stats: groups of the file system
};

// Recognises the kind of text by its content and adds it. Errors: a text of an unknown kind; a
// second text of the same kind; a text that contradicts itself.
[[nodiscard]] Status add_text(std::string_view text, Texts& texts);

// Return the arguments with which mke2fs makes a file system like the one that dumpe2fs describes,
// and the string to append to the value of -E.
[[nodiscard]] std::vector<std::string> mke2fs_arguments(const SuperblockText& superblock);
[[nodiscard]] std::string mke2fs_extended(const SuperblockText& superblock);

}  // namespace e4r::posted
