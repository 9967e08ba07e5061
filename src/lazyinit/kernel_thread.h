// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "lazyinit/mount_options.h"
#include "lazyinit/target.h"
#include "util/status.h"

namespace e4r::lazyinit {

// An ext4 file system that the kernel has mounted, where it can be seen from here.
struct MountedAt {
  std::string device;  // the kernel's name, such as "sda1": also below /proc/fs/ext4
  std::string at;      // one place where it is mounted
  bool writable = false;
};

// An Error when `path` is no block device, or not mounted as ext4 in this mount namespace.
[[nodiscard]] Result<MountedAt> find_mount(const std::string& path);

// What the mount says of the thread that zeroes tables (/proc/fs/ext4/DEVICE/options).
[[nodiscard]] Result<InitItable> thread_option(const MountedAt& mounted);
// Remounts with this option, and leaves all others and the flags of the mount as they are (fspick
// and fsconfig; Linux 5.17 is the first whose ext4 takes single options). The thread starts within
// five seconds, or goes on with its next group (ext4_register_li_request, Linux 6.1 super.c).
[[nodiscard]] Status set_thread_option(const MountedAt& mounted, const InitItable& wanted);

// Whether the kernel's thread runs for any file system: false also when there are no kernel threads
// to be seen from here.
enum class ThreadSeen : std::uint8_t { runs, does_not, cannot_tell };
[[nodiscard]] ThreadSeen thread_seen();

}  // namespace e4r::lazyinit
