// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/volume.h"

namespace e4r::record {

// The state of a file system at one moment.
struct VolumeState {
  std::uint64_t mount = 0;  // differs for each mount, at any place; 0: not mounted
  std::string options;      // see read_options()
  bool is_ext4 = false;     // by its superblock, as are the following
  std::uint64_t blocks = 0;
  std::uint32_t made = 0;  // time of creation by mke2fs
};
[[nodiscard]] VolumeState volume_state(const Volume& volume);
// Parses the 1,024 bytes of a superblock (Documentation/filesystems/ext4/super.rst).
void read_superblock(std::string_view bytes, VolumeState& state);

// Detects changes to a file system during its recording that make the capture inconsistent: an
// unmount, another mount, other options, another size, another file system.
class VolumeWatch {
 public:
  explicit VolumeWatch(const Volume& volume)
      : volume_(volume), last_(volume_state(volume)), began_mounted_(last_.mount != 0) {}
  // Returns the changes since the last look, such as "was unmounted: ...".
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
