// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/ext2_images.h"
#include "util/status.h"

// What two deciders are put through alike: a file system and what is done on it. Its text is what
// is printed where they part, and what --case reads (test/guest/random.sh).
namespace e4r::test::random {

// The file system at its start. 0, where nothing else is said: as mke2fs has it.
struct Shape {
  std::uint32_t groups = 8;
  std::uint32_t block_size = 4096;   // bytes
  std::uint32_t cluster_size = 0;    // bytes; 0: no bigalloc
  std::uint32_t group_clusters = 0;  // of a group
  std::uint32_t short_by = 0;        // blocks that the last group lacks
  std::uint32_t inodes = 16;         // of a group
  std::uint32_t flex = 0;            // groups of a flex group; 0: no flex_bg
  std::uint32_t stripe_width = 0;    // blocks, of the superblock
  std::uint32_t reserved = 0;        // percent, for the superuser
  bool extents = true;
  bool journal = true;
  bool checksums = true;        // metadata_csum; groups may then have no bitmap yet
  bool data_writeback = false;  // mounted with data=writeback
  bool loaded = false;          // every buddy is, before anything is asked
  Fill fill = {.max_free = 1u << 30, .skip_percent = 100};  // see fill_image()
  std::vector<std::string> tunables;                        // NAME=VALUE, from the mount on
};

// One thing that is done. Ranges of files are in clusters. What a request has besides follows from
// what the file has at that time (Account), so that a life from which steps have been taken is one
// still.
struct Step {
  enum class Kind : std::uint8_t {
    write,          // ino, at, len, flags, size, writers, cpu: as many requests as the range needs
    metadata,       // ino, len, flags, goal, cpu: one request, for no range of the file
    free,           // ino, at, len: its preallocations and what it has there
    free_metadata,  // ino: all of it
    discard,        // ino: its preallocations
    evict,          // ino: all that it has, and itself
    make,           // ino
    begin_commit,
    end_commit,
    set,   // text: NAME=VALUE
    load,  // goal: a group whose buddy somebody else wants
  };
  Kind kind = Kind::write;
  std::uint64_t ino = 0;
  std::uint32_t at = 0, len = 0;
  std::uint32_t flags = 0;  // mb::, of the request
  std::uint64_t goal = 0;   // block; of a write 0: beside what the file has
  std::uint64_t size = 0;   // of the file, in bytes
  std::uint32_t writers = 0;
  std::uint32_t cpu = 0;
  std::string text;
};

struct Life {
  Shape shape;
  std::vector<Step> steps;
};

// A line each for the shape and for every step.
[[nodiscard]] std::string to_text(const Life& life);
[[nodiscard]] std::string to_text(const Step& step);
// The Error names the line.
[[nodiscard]] Result<Life> parse_life(std::string_view text);

}  // namespace e4r::test::random
