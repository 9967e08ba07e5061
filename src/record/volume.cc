// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/volume.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "capture/facts.h"
#include "trace/event.h"
#include "trace/trace.h"
#include "util/file.h"

namespace e4r::record {
namespace {

constexpr const char* kMounts = "/proc/self/mountinfo";

// Decodes octal escapes such as "\040" for a space.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t k) { return text[i + k] >= '0' && text[i + k] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && octal(1) && octal(2) && octal(3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The kernel's name of a block device, from its link in sysfs.
Result<std::string> name_of(std::uint32_t dev) {
  const std::string link =
      fmt::format("/sys/dev/block/{}:{}", trace::dev_major(dev), trace::dev_minor(dev));
  std::error_code ec;
  const auto target = std::filesystem::read_symlink(link, ec);
  if (ec) return error("is not on a block device ({} does not exist)", link);
  return target.filename().string();
}

}  // namespace

std::optional<Mount> parse_mountinfo_line(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string id, parent, dev, root, point, options, word;
  if (!(words >> id >> parent >> dev >> root >> point >> options)) return std::nullopt;
  while (words >> word && word != "-") {
  }
  Mount out;
  std::string more;
  if (!(words >> out.type >> out.source >> more)) return std::nullopt;
  const auto number = trace::parse_device(dev);
  if (!number.ok()) return std::nullopt;
  out.dev = *number;
  out.root = unescape(root);
  out.point = unescape(point);
  out.source = unescape(out.source);
  out.options = capture::each_option_once(options + "," + more);
  return out;
}

std::uint32_t number_of(dev_t dev) {
  return trace::make_dev(major(dev), minor(dev));
}

std::optional<std::uint32_t> device_number(const std::string& device_name) {
  const auto dev = trace::parse_device(read_attribute("/sys/class/block/" + device_name + "/dev"));
  return dev.ok() ? std::optional(*dev) : std::nullopt;
}

bool is_mounted(std::string_view type) {
  std::ifstream file(kMounts);
  for (std::string line; std::getline(file, line);)
    if (const auto mount = parse_mountinfo_line(line); mount && mount->type == type) return true;
  return false;
}

std::optional<Mount> find_mount(std::uint32_t dev) {
  std::ifstream file(kMounts);
  std::optional<Mount> part;  // fallback: a mount of one of its directories
  for (std::string line; std::getline(file, line);) {
    std::optional<Mount> mount = parse_mountinfo_line(line);
    if (!mount || mount->dev != dev) continue;
    if (mount->root == "/") return mount;
    if (!part) part = std::move(mount);
  }
  return part;
}

Result<Volume> find_volume(const std::string& path) {
  if (::access(kMounts, R_OK) != 0)
    return error("{}: {}: recording needs /proc (mount -t proc proc /proc)", kMounts,
                 errno_text(errno));
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) return error("{}: {}", path, errno_text(errno));
  const bool device = S_ISBLK(st.st_mode);
  if (S_ISCHR(st.st_mode))
    return error("{}: is a character device: give an ext4 file system", path);
  const dev_t dev = device ? st.st_rdev : st.st_dev;
  Volume out;
  out.dev = number_of(dev);
  out.mount = find_mount(out.dev);
  if (out.mount && out.mount->type != "ext4")
    return error("{}: is {}, not ext4: only ext4 can be recorded", path, out.mount->type);
  auto name = name_of(out.dev);
  if (!name.ok()) return error("{}: {}: give an ext4 file system", path, name.error().message);
  out.device_name = *name;
  out.device_path = "/dev/" + out.device_name;
  std::replace(out.device_path.begin(), out.device_path.end(), '!', '/');
  if (device) out.device_path = path;
  return out;
}

}  // namespace e4r::record
