// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "lazyinit/lock.h"
#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::tools {

class CommandLine;

// What every subcommand is given.
struct ImageOptions {
  std::string image;
  bool dry_run = false;  // of those that write
  std::string undo;      // file for e2undo; empty: none
};

// IMAGE; with `writes` also --dry-run and --undo FILE.
void declare_image(CommandLine& app, ImageOptions& options, bool writes);

// An image that is open, and its tables.
struct Session {
  std::unique_ptr<lazyinit::Target> target;
  std::unique_ptr<lazyinit::Tables> tables;
};

// Read-only; a mounted device will do, with a warning that the kernel knows better.
[[nodiscard]] Result<Session> open_to_read(const ImageOptions& options);
// What a command that writes begins with, and keeps to its end: nobody else changes the image
// meanwhile. An Error when it is in use. --dry-run: reads only, and holds no lock.
[[nodiscard]] Result<lazyinit::ImageLock> lock_image(const ImageOptions& options);
// Refuses what Tables::open() refuses for writing. --dry-run: reads only, and what is written goes
// into memory. --undo: what is overwritten goes to that file first.
[[nodiscard]] Result<Session> open_to_write(const ImageOptions& options,
                                            const lazyinit::ImageLock& lock);
// The target alone, as open_to_write() opens it.
[[nodiscard]] Result<std::unique_ptr<lazyinit::Target>> open_target(
    const ImageOptions& options, const lazyinit::ImageLock& lock);

// "a.img: 16.0 TiB, 4.0 KiB blocks, 131,072 groups, metadata_csum"
[[nodiscard]] std::string describe(const Session& session);
// Warns where the kernel's thread does its work wrong, since a group's inodes fill no whole block.
void warn_of_partial_block(const Session& session);
// An Error for a file system whose groups have no flags.
[[nodiscard]] Status need_checksums(const Session& session);
// Groups "7", "3-9", "100-" of a file system that has `count` of them; all for "".
struct GroupRange {
  std::uint32_t first = 0, last = 0;
};
[[nodiscard]] Result<GroupRange> parse_groups(const std::string& text, std::uint32_t count);

// "would have " for --dry-run, else nothing: the first words of a summary.
[[nodiscard]] inline const char* would(const ImageOptions& options) {
  return options.dry_run ? "would have " : "";
}
// "1 group", "2 groups".
[[nodiscard]] std::string groups_text(std::uint64_t count);
// "45 s", "12 min 5 s", "3 h 20 min", "12 days 3 h".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace e4r::tools
