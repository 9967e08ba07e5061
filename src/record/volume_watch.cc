// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/volume_watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <set>
#include <sstream>

#include "record/kernel_files.h"
#include "util/fd.h"
#include "util/little_endian.h"

namespace e4r::record {
namespace {

constexpr std::size_t kSuperblockAt = 1024, kSuperblockBytes = 1024;
constexpr std::uint16_t kMagic = 0xef53;
constexpr std::uint32_t kIncompat64Bit = 0x80;

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.insert(line);
  return out;
}

// Lists removed and added options: "-delalloc +nodelalloc".
std::string difference(const std::string& before, const std::string& now) {
  const std::set<std::string> old_lines = lines_of(before), new_lines = lines_of(now);
  std::string out;
  const auto add = [&](const auto& lines, const auto& others, char sign) {
    for (const std::string& line : lines)
      if (!others.contains(line)) out += fmt::format("{}{}{}", out.empty() ? "" : " ", sign, line);
  };
  add(old_lines, new_lines, '-');
  add(new_lines, old_lines, '+');
  return out;
}

}  // namespace

void read_superblock(std::string_view bytes, VolumeState& state) {
  if (bytes.size() < kSuperblockBytes) return;
  const auto at = [&](std::size_t offset) { return get_le<std::uint32_t>(&bytes[offset]); };
  state.is_ext4 = get_le<std::uint16_t>(&bytes[0x38]) == kMagic;
  if (!state.is_ext4) return;
  state.blocks = at(0x04);
  if ((at(0x60) & kIncompat64Bit) != 0) state.blocks |= std::uint64_t{at(0x150)} << 32;
  state.made = at(0x108);
}

VolumeState volume_state(const Volume& volume) {
  VolumeState out;
  // sysfs gives each new directory a new inode number.
  struct stat st = {};
  if (::stat(sysfs_directory(volume.device_name).c_str(), &st) == 0) out.mount = st.st_ino;
  out.options = read_options(volume.device_name);
  const Fd fd(::open(volume.device_path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kSuperblockBytes> bytes = {};
  if (fd.is_open() && ::pread(fd.get(), bytes.data(), bytes.size(), kSuperblockAt) ==
                          static_cast<ssize_t>(bytes.size()))
    read_superblock({bytes.data(), bytes.size()}, out);
  return out;
}

std::vector<std::string> VolumeWatch::look() {
  return compare(volume_state(volume_));
}

std::vector<std::string> VolumeWatch::compare(const VolumeState& now) {
  std::vector<std::string> out;
  compare_mounts(now, out);
  if (last_.is_ext4 && !now.is_ext4)
    out.emplace_back("is no longer an ext4 file system");
  else if (last_.is_ext4 && last_.made != now.made)
    out.emplace_back("was made anew (mke2fs): the start image shows the file system before that");
  else if (last_.is_ext4 && last_.blocks != now.blocks)
    out.push_back(fmt::format("was resized from {} to {} blocks: a replay has {}", last_.blocks,
                              now.blocks, last_.blocks));
  last_ = now;
  return out;
}

// If recording began before the mount, the first mount and the unmount after it are expected.
void VolumeWatch::compare_mounts(const VolumeState& now, std::vector<std::string>& out) {
  if (now.mount == last_.mount) {
    if (const std::string changed = difference(last_.options, now.options); !changed.empty())
      out.push_back(fmt::format("was remounted: {}", changed));
    return;
  }
  if (now.mount == 0) {
    if (began_mounted_)
      out.emplace_back("was unmounted: what happens to it from here on may not be recorded");
    return;
  }
  if (was_mounted_)
    out.emplace_back(
        "was unmounted and mounted again: the kernel began anew, and a replay does not");
  was_mounted_ = true;
}

}  // namespace e4r::record
