// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/kernel_thread.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "util/fd.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::lazyinit {
namespace {

constexpr std::string_view kOn = "init_itable";
constexpr std::string_view kOff = "noinit_itable";
constexpr std::string_view kDefault = "default";

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

// Whether the word is init_itable or noinit_itable, even with a wrong value.
bool concerns(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return name == kOn || name == kOff;
}

}  // namespace

Result<std::uint32_t> parse_multiplier(std::string_view name, std::string_view text) {
  const auto number = parse_u64(text);
  if (!number.ok() || *number > InitItable::kMaxMultiplier)
    return error("{}={}: give a whole number from 0 (no pauses) to {}", name, text,
                 InitItable::kMaxMultiplier);
  return static_cast<std::uint32_t>(*number);
}

std::string InitItable::text() const {
  switch (kind) {
    case Kind::unset:
      return std::string(kDefault);
    case Kind::off:
      return std::string(kOff);
    case Kind::wait:
      break;
  }
  return fmt::format("{}={}", kOn, multiplier);
}

Result<InitItable> parse_init_itable(std::string_view text) {
  if (text == kDefault) return InitItable{};
  if (text == kOff) return InitItable{.kind = InitItable::Kind::off};
  if (text == kOn) return InitItable{.kind = InitItable::Kind::wait};
  if (text.starts_with(kOn) && text.substr(kOn.size()).starts_with('=')) {
    E4R_TRY(const std::uint32_t multiplier, parse_multiplier(kOn, text.substr(kOn.size() + 1)));
    return InitItable{InitItable::Kind::wait, multiplier};
  }
  return error("'{}' is unknown: give init_itable=N, noinit_itable or default", text);
}

Result<InitItable> init_itable_of(std::string_view mount_options) {
  InitItable last;
  for (const std::string_view word : split(mount_options)) {
    if (!concerns(word)) continue;
    E4R_TRY(last, parse_init_itable(word));
  }
  return last;
}

Result<std::string> with_init_itable(std::string_view mount_options, const InitItable& wanted) {
  std::string text;
  const auto add = [&text](std::string_view word) {
    if (!text.empty()) text += ',';
    text += word;
  };
  for (const std::string_view word : split(mount_options))
    if (!concerns(word)) add(word);
  if (wanted.kind != InitItable::Kind::unset) add(wanted.text());
  if (text.size() > kMountOptionsMax)
    return error(
        "the superblock has room for {} bytes of mount options, and '{}' has {}: remove others "
        "with tune2fs -E mount_opts=...",
        kMountOptionsMax, text, text.size());
  return text;
}

namespace {

// Decodes a path in mountinfo, where blanks and backslashes are written as \040 and the like.
std::string unescape(const std::string& text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool octal = text[i] == '\\' && i + 3 < text.size() &&
                       std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                   text.begin() + static_cast<std::ptrdiff_t>(i) + 4,
                                   [](char c) { return c >= '0' && c <= '7'; });
    if (!octal) {
      path += text[i];
      continue;
    }
    path +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return path;
}

// A line of mountinfo: "41 26 7:2 / /mnt rw,relatime shared:1 - ext4 /dev/loop2 rw,init_itable=5".
struct MountLine {
  std::string number, at, type, super_options;
};

MountLine parse_mount(const std::string& line) {
  MountLine mount;
  std::string id, parent, root, options, word, source;
  std::istringstream words(line);
  words >> id >> parent >> mount.number >> root >> mount.at >> options;
  while (words >> word && word != "-") {
  }
  words >> mount.type >> source >> mount.super_options;
  return mount;
}

Status fail(const MountedAt& mounted, int fd) {
  const int why = errno;
  // The file system's own message, in the form "e TEXT".
  std::array<char, 512> text = {};
  const ssize_t n = fd >= 0 ? ::read(fd, text.data(), text.size()) : -1;
  std::string detail =
      n > 2 ? ": " + std::string(text.data() + 2, static_cast<std::size_t>(n - 2)) : std::string();
  while (detail.ends_with('\n')) detail.pop_back();
  return error("cannot remount {} at {}: {}{}", mounted.device, mounted.at, errno_text(why),
               detail);
}

}  // namespace

Result<MountedAt> find_mount(const std::string& path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) return error("cannot open {}: {}", path, errno_text(errno));
  if (!S_ISBLK(st.st_mode))
    return error("{} is not a block device, so it is not mounted itself", path);
  const std::string number = fmt::format("{}:{}", major(st.st_rdev), minor(st.st_rdev));
  E4R_TRY(const std::string all, read_file("/proc/self/mountinfo"));
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    const MountLine mount = parse_mount(line);
    if (mount.number != number || mount.type != "ext4") continue;
    std::error_code gone;
    const auto sysfs = std::filesystem::canonical("/sys/dev/block/" + number, gone);
    return MountedAt{sysfs.filename().string(), unescape(mount.at),
                     mount.super_options == "rw" || mount.super_options.starts_with("rw,")};
  }
  return error("{} is not mounted as ext4 in this mount namespace", path);
}

Result<InitItable> thread_option(const MountedAt& mounted) {
  E4R_TRY(const std::string all, read_file("/proc/fs/ext4/" + mounted.device + "/options"));
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("init_itable") || line == "noinit_itable") return parse_init_itable(line);
  return error("{}: /proc/fs/ext4/{}/options does not mention init_itable", mounted.at,
               mounted.device);
}

Status set_thread_option(const MountedAt& mounted, const InitItable& wanted) {
  const Fd fd(static_cast<int>(
      ::syscall(SYS_fspick, AT_FDCWD, mounted.at.c_str(), FSPICK_CLOEXEC | FSPICK_NO_AUTOMOUNT)));
  if (!fd.is_open()) return fail(mounted, -1);
  const auto config = [&fd](unsigned command, const char* key, const char* value) {
    return ::syscall(SYS_fsconfig, fd.get(), command, key, value, 0) == 0;
  };
  const bool named =
      wanted.kind == InitItable::Kind::off
          ? config(FSCONFIG_SET_FLAG, "noinit_itable", nullptr)
          : config(FSCONFIG_SET_STRING, "init_itable", std::to_string(wanted.multiplier).c_str());
  if (!named || !config(FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr)) return fail(mounted, fd.get());
  return {};
}

ThreadSeen thread_seen() {
  if (read_attribute("/proc/2/comm") != "kthreadd") return ThreadSeen::cannot_tell;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone))
    if (read_attribute((entry.path() / "comm").string()) == "ext4lazyinit") return ThreadSeen::runs;
  return ThreadSeen::does_not;
}

}  // namespace e4r::lazyinit
