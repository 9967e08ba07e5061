// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/ext2_images.h"
#include "util/status.h"

// A life is a file system and a sequence of steps on it, which two deciders execute. If they
// differ, the life is printed as text, which --case reads (test/guest/random.sh).
namespace e4r::test::random {

// The file system at its start. 0 means the default of mke2fs, unless a comment gives another
// meaning.
struct Shape {
  std::uint32_t groups = 8;
  std::uint32_t block_size = 4096;   // bytes
  std::uint32_t cluster_size = 0;    // bytes; 0: no bigalloc
  std::uint32_t group_clusters = 0;  // clusters in a group
  std::uint32_t short_by = 0;        // blocks that the last group lacks
  std::uint32_t inodes = 16;         // inodes in a group
  std::uint32_t flex = 0;            // groups in a flex group; 0: no flex_bg
  std::uint32_t stripe_width = 0;    // blocks, in the superblock
  std::uint32_t reserved = 0;        // percent, for root
  bool extents = true;
  bool journal = true;
  bool checksums = true;        // metadata_csum; groups may then have no bitmap yet
  bool data_writeback = false;  // mounted with data=writeback
  bool loaded = false;          // every buddy is loaded at the start
  Fill fill = {.max_free = 1u << 30, .skip_percent = 100};  // see fill_image()
  std::vector<std::string> tunables;                        // NAME=VALUE, set at the mount
};

// One step. Ranges of files are in clusters. The rest of a request is computed from the file's
// state at that time (Account), so a life remains valid if steps are left out.
struct Step {
  enum class Kind : std::uint8_t {
    write,          // ino, at, len, flags, size, writers, cpu: as many requests as the range needs
    metadata,       // ino, len, flags, goal, cpu: one request outside the file's ranges
    free,           // ino, at, len: its preallocations and its clusters in the range
    free_metadata,  // ino: all its metadata
    discard,        // ino: its preallocations
    evict,          // ino: all its clusters and the inode itself
    make,           // ino
    begin_commit,
    end_commit,
    set,   // text: NAME=VALUE
    load,  // goal: a group whose buddy another thread needs
  };
  Kind kind = Kind::write;
  std::uint64_t ino = 0;
  std::uint32_t at = 0, len = 0;
  std::uint32_t flags = 0;  // flags of the request (mb::)
  std::uint64_t goal = 0;   // a block; 0 in a write: next to the file's other blocks
  std::uint64_t size = 0;   // bytes in the file
  std::uint32_t writers = 0;
  std::uint32_t cpu = 0;
  std::string text;
};

struct Life {
  Shape shape;
  std::vector<Step> steps;
};

// One line for the shape and one for each step.
[[nodiscard]] std::string to_text(const Life& life);
[[nodiscard]] std::string to_text(const Step& step);
// The Error names the invalid line.
[[nodiscard]] Result<Life> parse_life(std::string_view text);

}  // namespace e4r::test::random
