// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/fd.h"
#include "util/output.h"
#include "util/status.h"

namespace e4r::record {

// One line of /proc/self/mountinfo.
struct Mount {
  std::uint32_t dev = 0;  // encoded as by trace::make_dev()
  std::string root;       // the directory of the file system that is mounted there
  std::string point;
  std::string type;  // the file system's type
  std::string source;
  std::string options;  // options of the mount and of the file system, comma-separated
  // Whether the file system is read-only, and not only this mount of it.
  bool read_only = false;
};
[[nodiscard]] std::optional<Mount> parse_mountinfo_line(std::string_view line);

// The file system to record, which is on a block device.
struct Volume {
  std::uint32_t dev = 0;
  std::string device_name;  // the kernel's name: "sda1", "dm-0", "cciss!c0d0"
  std::string device_path;  // "/dev/sda1"
  std::optional<Mount> mount;
};

// Finds the volume of `path`: a mount point, a file or directory in the file system, or a block
// device. The Error says what `path` is if it is none of these.
[[nodiscard]] Result<Volume> find_volume(const std::string& path);

// A device number from stat() in the form of trace::make_dev().
[[nodiscard]] std::uint32_t number_of(dev_t dev);
// The number of the device with the kernel name `device_name` ("sda1").
[[nodiscard]] std::optional<std::uint32_t> device_number(const std::string& device_name);

// Whether a file system of that type is mounted.
[[nodiscard]] bool is_mounted(std::string_view type);

// The device's current mount, if any.
[[nodiscard]] std::optional<Mount> find_mount(std::uint32_t dev);

enum class Stored : std::uint8_t { elsewhere, there, unknown };

// Whether data written into the directory ends up on the device. It does if the directory's file
// system is on the device itself, on a loop device backed by a file on it, on an overlay with its
// upper directory on it, or on a device built from such devices (dm, md, partitions). Unknown if an
// overlay's upper directory is not visible to this process.
[[nodiscard]] Stored find_storage(const std::string& directory, std::uint32_t dev);

// Refuses an output on the volume, because writes to it would be recorded, too. Adds a note if that
// cannot be determined.
[[nodiscard]] Status check_output(const OutputName& output, const Volume& volume,
                                  std::vector<std::string>& notes);

// An unnamed copy of a loop device's file that shares its blocks (FICLONE). The copy is deleted
// with the object.
class LoopCopy {
 public:
  // Fails if the device with the kernel name `device_name` ("loop0") is not a loop device, shows
  // only a part of its file, or lies on a file system that cannot share blocks.
  [[nodiscard]] static Result<LoopCopy> make(const std::string& device_name);
  // A path for opening the copy, valid while this object lives.
  [[nodiscard]] std::string path() const { return fd_.path(); }

 private:
  explicit LoopCopy(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// Checks that the output file still exists and is complete: a recorded command may remove or
// truncate it. Accepts anything that is not a regular file.
class OutputWatch {
 public:
  OutputWatch() = default;
  explicit OutputWatch(const std::string& path);
  // Fails if the file is gone or no longer complete.
  [[nodiscard]] Status check();

 private:
  std::string path_;
  Fd file_;
  off_t largest_ = 0;  // the largest size seen
};

// The state of a file system at one moment.
struct VolumeState {
  std::uint64_t mount = 0;  // differs for each mount, at any mount point; 0 if not mounted
  std::string options;      // see read_options()
  bool is_ext4 = false;     // from the superblock, like the next members
  std::uint64_t blocks = 0;
  std::uint32_t made = 0;  // when mke2fs created it
};
[[nodiscard]] VolumeState volume_state(const Volume& volume);
// Parses the 1,024 bytes of a superblock (Documentation/filesystems/ext4/super.rst).
void read_superblock(std::string_view bytes, VolumeState& state);

// Detects changes to the mounts that this process sees, such as a remount.
class MountTable {
 public:
  MountTable();
  // Whether the mounts have changed since the last call. Never true if /proc is not mounted. Not
  // thread-safe.
  [[nodiscard]] bool has_changed();

 private:
  Fd file_;
};

// Detects changes to a file system during its recording that make the capture inconsistent: an
// unmount, a new mount, other options, another size, another file system.
class VolumeWatch {
 public:
  explicit VolumeWatch(const Volume& volume)
      : volume_(volume), last_(volume_state(volume)), began_mounted_(last_.mount != 0) {}
  // Returns the changes since the last check, such as "was unmounted: ...".
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
