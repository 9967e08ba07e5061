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

// Reads the texts about a file system that people post when they ask for help.
namespace e4r::posted {

// What e2freefrag prints.
struct ExtentText {
  std::uint32_t block_size = 0;  // bytes
  std::uint64_t blocks = 0;      // of the file system
  std::uint64_t free = 0;        // blocks
  std::uint64_t count = 0;       // free extents
  std::uint64_t min_kib = 0, max_kib = 0;
  std::uint64_t chunk_bytes = 0;  // 0: it has no line about chunks
  std::uint64_t free_chunks = 0;
  struct Bucket {
    std::uint64_t least = 0, most = 0;  // length of an extent, in blocks
    std::uint64_t extents = 0, blocks = 0;
  };
  std::vector<Bucket> buckets;  // ascending
};

// What dumpe2fs prints.
struct SuperblockText {
  std::uint32_t block_size = 0, cluster_size = 0;  // bytes; cluster_size 0: as the block
  std::uint64_t blocks = 0;
  std::uint64_t reserved = 0;  // blocks
  std::uint64_t clusters_or_blocks_per_group = 0;
  std::uint64_t inodes = 0, inode_size = 0;
  std::uint64_t flex_groups = 0;  // 0: not said
  std::uint64_t stride = 0, stripe_width = 0;
  std::string journal;  // "128M"; empty: not said
  std::vector<std::string> features;
  // The free blocks of all groups, ascending. Empty optional: dumpe2fs -h does not print them.
  std::optional<std::vector<BlockRange>> free;
};

struct Texts {
  std::optional<ExtentText> extents;
  std::optional<SuperblockText> superblock;
  std::vector<state::MbGroup> groups;         // of mb_groups
  std::optional<std::uint64_t> groups_count;  // of mb_stats: groups of the file system
};

// Recognises the text by what is in it, and adds it. Errors: no text of these kinds; a text of a
// kind that is there already; a text that contradicts itself.
[[nodiscard]] Status add_text(std::string_view text, Texts& texts);

// What mke2fs must be told so that the file system is like the one of dumpe2fs: its arguments, and
// what is to be added to those of its -E.
[[nodiscard]] std::vector<std::string> mke2fs_arguments(const SuperblockText& superblock);
[[nodiscard]] std::string mke2fs_extended(const SuperblockText& superblock);

}  // namespace e4r::posted
