// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// The longest text that s_mount_opts holds, in bytes. The field has 64 bytes, and Linux 6.1
// (parse_apply_sb_mount_options) refuses to mount if the last one is not NUL.
inline constexpr std::size_t kMountOptionsMax = 63;

// The setting of the kernel's lazy inode-table thread in the mount options of a superblock.
struct InitItable {
  enum class Kind : std::uint8_t {
    unset,  // not mentioned: the thread runs with the kernel's own multiplier, 10
    off,    // noinit_itable: no thread
    wait,   // init_itable=N: after each group, sleep N x the time that the first group took
  };
  // The multiplier of `init_itable` without a value: EXT4_DEF_LI_WAIT_MULT of Linux 6.1.
  static constexpr std::uint32_t kDefaultMultiplier = 10;
  // Kernels up to 5.16 read an int; a larger number would make them ignore every option.
  static constexpr std::uint32_t kMaxMultiplier = 0x7fffffff;

  Kind kind = Kind::unset;
  std::uint32_t multiplier = kDefaultMultiplier;  // for Kind::wait; 0: never sleeps

  // "init_itable=N", "noinit_itable" or "default".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const InitItable&, const InitItable&) = default;
};

// Parses a multiplier. The Error names the option as `name`, for example "init_itable" or "--mult".
[[nodiscard]] Result<std::uint32_t> parse_multiplier(std::string_view name, std::string_view text);

// Parses the result of InitItable::text(), or "init_itable" alone. Refuses anything else: the
// kernel ignores all options of the superblock if it cannot parse one word.
[[nodiscard]] Result<InitItable> parse_init_itable(std::string_view text);

// Returns the setting in a comma-separated list of options. If several words set it, the last one
// counts, as when the kernel mounts. Returns an Error for a word that the kernel cannot parse,
// because the kernel then ignores the whole list.
[[nodiscard]] Result<InitItable> init_itable_of(std::string_view mount_options);

// Removes all words that configure the thread from `mount_options` and appends `wanted` (nothing
// for Kind::unset). Returns an Error if the text gets longer than kMountOptionsMax.
[[nodiscard]] Result<std::string> with_init_itable(std::string_view mount_options,
                                                   const InitItable& wanted);

// An ext4 file system that the kernel has mounted in this mount namespace.
struct MountedAt {
  std::string device;  // the kernel's name, such as "sda1"; also the directory's name in
                       // /proc/fs/ext4
  std::string at;      // one of its mount points
  bool writable = false;
};

// Returns an Error if `path` is not a block device, or is not mounted as ext4 in this mount
// namespace.
[[nodiscard]] Result<MountedAt> find_mount(const std::string& path);

// Reads the mount's option for the thread that zeroes tables (/proc/fs/ext4/DEVICE/options).
[[nodiscard]] Result<InitItable> thread_option(const MountedAt& mounted);
// Remounts with this option. All other options and flags of the mount stay as they are, because
// fspick and fsconfig change a single option, which ext4 accepts since Linux 5.17. The thread
// starts within five seconds, or continues with its next group (ext4_register_li_request, Linux 6.1
// super.c).
[[nodiscard]] Status set_thread_option(const MountedAt& mounted, const InitItable& wanted);

// Whether the kernel's thread is running for any file system. cannot_tell: this process sees no
// kernel threads.
enum class ThreadSeen : std::uint8_t { runs, does_not, cannot_tell };
[[nodiscard]] ThreadSeen thread_seen();

}  // namespace e4r::lazyinit
