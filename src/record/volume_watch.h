// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/volume.h"

namespace e4r::record {

// How a file system is at one moment.
struct VolumeState {
  std::uint64_t mount = 0;  // another one for each mount, wherever it is mounted; 0: nowhere
  std::string options;      // /proc/fs/ext4/DEVICE/options
  bool is_ext4 = false;     // by its superblock, as are these:
  std::uint64_t blocks = 0;
  std::uint32_t made = 0;  // time of mke2fs
  std::string uuid;        // 16 bytes
};
[[nodiscard]] VolumeState volume_state(const Volume& volume);
// Of the 1,024 bytes of a superblock (Documentation/filesystems/ext4/super.rst).
void read_superblock(std::string_view bytes, VolumeState& state);

// Finds what happens to a file system while it is recorded, after which its capture is not what it
// says: an unmount, another mount, other options, another size, another file system.
class VolumeWatch {
 public:
  explicit VolumeWatch(const Volume& volume)
      : volume_(volume), last_(volume_state(volume)), began_mounted_(last_.mount != 0) {}
  // What has changed since the last look, such as "was unmounted: ...".
  [[nodiscard]] std::vector<std::string> look();
  [[nodiscard]] std::vector<std::string> compare(const VolumeState& now);

 private:
  void compare_mounts(const VolumeState& now, std::vector<std::string>& out);

  Volume volume_;
  VolumeState last_;
  bool began_mounted_;
  bool was_mounted_ = began_mounted_;
};

}  // namespace e4r::record
