// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lazyinit/in_use.h"
#include "lazyinit/place.h"
#include "lazyinit/tables.h"
#include "lazyinit/target.h"
#include "lazyinit/zeroer.h"
#include "util/progress.h"
#include "util/status.h"

namespace e4r::tools {

class CommandLine;

// The arguments of every subcommand.
struct ImageOptions {
  std::string image;
  bool dry_run = false;  // for subcommands that write
  std::string undo;      // undo file for e2undo; empty without --undo
};

// Declares IMAGE, and with `writes` also --dry-run and --undo FILE.
void declare_image(CommandLine& app, ImageOptions& options, bool writes);

// The action of a subcommand: finds the device for LABEL= or UUID=, then calls `run`.
template <class Options>
[[nodiscard]] std::function<Result<int>()> on_image(std::shared_ptr<Options> options,
                                                    Result<int> (*run)(const Options& options)) {
  return [options = std::move(options), run]() -> Result<int> {
    E4R_TRY(options->image.image, lazyinit::find_device(options->image.image));
    return run(*options);
  };
}

// An open image and its tables.
struct OpenedTarget {
  std::unique_ptr<lazyinit::Target> target;
  std::unique_ptr<lazyinit::Tables> tables;
};

// Opens the image read-only. A mounted device is allowed, with a warning that the kernel may have
// newer data.
[[nodiscard]] Result<OpenedTarget> open_to_read(const ImageOptions& options);
// Keeps other programs from changing the image while a command writes. Refuses an image that is in
// use. With --dry-run, makes this check but takes no lock.
[[nodiscard]] Result<lazyinit::ImageLock> lock_image(const ImageOptions& options);
// Refuses what Tables::open() refuses for writing. With --dry-run, writes stay in memory. With
// --undo, overwritten content is first saved in that file.
[[nodiscard]] Result<OpenedTarget> open_to_write(const ImageOptions& options,
                                                 const lazyinit::ImageLock& lock);
// Opens the image as open_to_write() does, but makes no undo file. Used by commands that examine
// the image before the first change.
[[nodiscard]] Result<OpenedTarget> open_to_look(const ImageOptions& options,
                                                const lazyinit::ImageLock& lock);
// Opens the image read-only, and refuses what open_to_write() refuses.
[[nodiscard]] Result<OpenedTarget> open_to_judge(const ImageOptions& options);
// Opens only the target, as open_to_write() does.
[[nodiscard]] Result<std::unique_ptr<lazyinit::Target>> open_target(
    const ImageOptions& options, const lazyinit::ImageLock& lock);

// The feature that gives group descriptors their checksums, or "none".
[[nodiscard]] const char* name_of(lazyinit::FileSystem::Checksums checksums);
// Returns for example "a.img: 16.0 TiB, 4.0 KiB blocks, 131,072 groups, metadata_csum".
[[nodiscard]] std::string describe(const OpenedTarget& opened);
// Warns if the inodes of a group end within a block, because the kernel's thread then makes
// mistakes (FileSystem::ends_within_block).
void warn_of_partial_block(const OpenedTarget& opened);
// Refuses a file system without descriptor checksums, because its groups have no flags.
[[nodiscard]] Status need_checksums(const OpenedTarget& opened);
// Parses a range of groups: "7", "3-9", "100-"; "" means all `count` groups.
struct GroupRange {
  std::uint32_t first = 0, last = 0;
};
[[nodiscard]] Result<GroupRange> parse_groups(const std::string& text, std::uint32_t count);

// The first words of a summary: "would have " with --dry-run, else nothing.
[[nodiscard]] inline const char* would(const ImageOptions& options) {
  return options.dry_run ? "would have " : "";
}
// Formats a number of groups: "1 group", "2 groups".
[[nodiscard]] std::string groups_text(std::uint64_t count);
// Formats a duration: "45 s", "12 min 5 s", "3 h 20 min", "12 days 3 h".
[[nodiscard]] std::string duration_text(double seconds);

// Refuses to treat tables as zeroed only because they read as zeros, on a device where discarded
// blocks may read differently later. --trust-discard allows it.
[[nodiscard]] Status may_believe_zeros(const ImageOptions& options, bool trust_discard);

// Returns the groups without ITABLE_ZEROED.
[[nodiscard]] std::vector<std::uint32_t> groups_to_do(const lazyinit::Tables& tables);

// Returns the groups whose tables have blocks without any used inode.
[[nodiscard]] std::vector<std::uint32_t> groups_with_unused(const lazyinit::Tables& tables);

// Runs zero_tables(). On a terminal, shows a progress line with the time left. Signals stop it.
[[nodiscard]] Result<lazyinit::ZeroOutcome> zero_with_progress(
    const OpenedTarget& opened, std::span<const std::uint32_t> groups,
    lazyinit::ZeroOptions options, Progress& progress);

// Prints the outcome, with one line for each thing that happened.
void print_outcome(const lazyinit::ZeroOutcome& outcome, const ImageOptions& options);

}  // namespace e4r::tools
