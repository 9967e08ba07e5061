// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "lazyinit/mount_options.h"
#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// An ext4 file system that the kernel has mounted in this mount namespace.
struct MountedAt {
  std::string device;  // the kernel's name, such as "sda1": also below /proc/fs/ext4
  std::string at;      // one place where it is mounted
  bool writable = false;
};

// An Error if `path` is not a block device, or not mounted as ext4 in this mount namespace.
[[nodiscard]] Result<MountedAt> find_mount(const std::string& path);

// Reads the mount's option for the thread that zeroes tables (/proc/fs/ext4/DEVICE/options).
[[nodiscard]] Result<InitItable> thread_option(const MountedAt& mounted);
// Remounts with this option. All other options and flags of the mount stay (fspick and fsconfig;
// ext4 takes single options from Linux 5.17 on). The thread starts within five seconds, or goes on
// with its next group (ext4_register_li_request, Linux 6.1 super.c).
[[nodiscard]] Status set_thread_option(const MountedAt& mounted, const InitItable& wanted);

// Whether the kernel's thread runs for any file system. cannot_tell: this process sees no kernel
// threads.
enum class ThreadSeen : std::uint8_t { runs, does_not, cannot_tell };
[[nodiscard]] ThreadSeen thread_seen();

}  // namespace e4r::lazyinit
