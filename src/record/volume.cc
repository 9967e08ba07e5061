// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/volume.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "capture/capture.h"
#include "record/kernel_files.h"
#include "trace/event.h"
#include "trace/trace.h"
#include "util/bytes.h"
#include "util/fd.h"
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

// The kernel's name of a block device, from the device's link in sysfs.
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
  out.read_only = ("," + more + ",").find(",ro,") != std::string::npos;
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
  std::optional<Mount> part;  // fallback: a mount that shows only one of its directories
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

namespace {

namespace fs = std::filesystem;

class Search {
 public:
  explicit Search(std::uint32_t wanted) : wanted_(wanted) {}

  Stored in_file(const std::string& path) {
    struct stat st = {};
    if (::stat(path.c_str(), &st) != 0) return Stored::unknown;
    const dev_t dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
    return on_device(number_of(dev));
  }

 private:
  Stored on_device(std::uint32_t dev) {
    if (dev == wanted_) return Stored::there;
    if (!seen_.insert(dev).second) return Stored::elsewhere;
    const fs::path place =
        fmt::format("/sys/dev/block/{}:{}", trace::dev_major(dev), trace::dev_minor(dev));
    std::error_code failed;
    if (!fs::exists(place, failed)) return below_mount(dev);
    Stored out = below_loop(place);
    if (fs::exists(place / "partition", failed)) out = worse(out, on_listed_device(place / ".."));
    for (fs::directory_iterator it(place / "slaves", failed), end; !failed && it != end;
         it.increment(failed))
      out = worse(out, on_listed_device(it->path()));
    return out;
  }

  // Examines a block device listed in sysfs.
  Stored on_listed_device(const fs::path& place) {
    const auto dev = trace::parse_device(read_attribute(place / "dev"));
    return dev.ok() ? on_device(*dev) : Stored::elsewhere;
  }

  Stored below_loop(const fs::path& place) {
    const std::string backing = read_attribute(place / "loop" / "backing_file");
    if (backing.empty()) return Stored::elsewhere;
    std::error_code failed;
    const auto shown = loop_shows("/dev/" + fs::canonical(place, failed).filename().string());
    if (!shown || fs::is_block_file(backing, failed)) return in_file(backing);
    return on_device(number_of(shown->device));
  }

  // Examines a file system without its own block device, such as an overlay or Btrfs.
  Stored below_mount(std::uint32_t dev) {
    const auto mount = find_mount(dev);
    if (!mount) return Stored::elsewhere;
    if (mount->type != "overlay")
      return mount->source.starts_with('/') ? in_file(mount->source) : Stored::elsewhere;
    constexpr std::string_view kUpper = "upperdir=";
    std::istringstream options(mount->options);
    for (std::string option; std::getline(options, option, ',');)
      if (option.starts_with(kUpper)) return in_file(option.substr(kUpper.size()));
    return Stored::elsewhere;  // an overlay without an upper directory is read-only
  }

  static Stored worse(Stored a, Stored b) {
    if (a == Stored::there || b == Stored::there) return Stored::there;
    return a == Stored::unknown ? a : b;
  }

  std::uint32_t wanted_;
  std::set<std::uint32_t> seen_;
};

}  // namespace

Stored find_storage(const std::string& directory, std::uint32_t dev) {
  return Search(dev).in_file(directory);
}

namespace {

// The file behind a loop device. The device must show the whole file.
Result<std::string> whole_file_behind(const std::string& device_name) {
  const std::string loop = fmt::format("/sys/class/block/{}/loop/", device_name);
  std::string file = read_attribute(loop + "backing_file");
  if (file.empty())
    return error("{}: is not a loop device: --snapshot reflink copies the file of one",
                 device_name);
  if (read_attribute(loop + "offset") != "0")
    return error("{}: shows only a part of {}: give --snapshot freeze", device_name, file);
  return file;
}

}  // namespace

Result<LoopCopy> LoopCopy::make(const std::string& device_name) {
  E4R_TRY(const std::string file, whole_file_behind(device_name));
  const Fd from(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from.is_open()) return error("{}: {}", file, errno_text(errno));
  const std::string directory = std::filesystem::path(file).parent_path();
  Fd copy(::open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!copy.is_open() || ::ioctl(copy.get(), FICLONE, from.get()) != 0)
    return error(
        "{}: its file system cannot make a copy that shares blocks: {}; give --snapshot "
        "freeze",
        file, errno_text(errno));
  return LoopCopy(std::move(copy));
}

OutputWatch::OutputWatch(const std::string& path) : path_(path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode))
    file_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

Status OutputWatch::check() {
  struct stat st = {};
  if (!file_.is_open() || ::fstat(file_.get(), &st) != 0) return {};
  if (st.st_nlink == 0)
    return error("{}: was removed during the recording: nothing is left of it", path_);
  const auto named = file_id(path_);
  if (named != file_id(st)) {
    std::error_code failed;
    const std::string now = std::filesystem::read_symlink(file_.path(), failed);
    return error("{}: was renamed while it was recorded{}{}", path_, now.empty() ? "" : ": it is ",
                 now);
  }
  // A file that was truncated and then written further has a hole. For a file without holes,
  // SEEK_HOLE returns the end.
  const off_t hole = ::lseek(file_.get(), 0, SEEK_HOLE);
  const bool shrunk = st.st_size < std::exchange(largest_, std::max(largest_, st.st_size));
  if (shrunk || (hole >= 0 && hole < st.st_size))
    return error("{}: was truncated while it was recorded: what was in it is lost", path_);
  return {};
}

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

MountTable::MountTable() : file_(::open(kMounts, O_RDONLY | O_CLOEXEC)) {}

bool MountTable::has_changed() {
  pollfd file = {file_.get(), POLLPRI, 0};
  return file_.is_open() && ::poll(&file, 1, 0) > 0;
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
    out.emplace_back("was made again (mke2fs): the start image shows the file system before that");
  else if (last_.is_ext4 && last_.blocks != now.blocks)
    out.push_back(fmt::format("was resized from {} to {} blocks: a replay has {}", last_.blocks,
                              now.blocks, last_.blocks));
  last_ = now;
  return out;
}

// If the recording began before the mount, the first mount, and the unmount that follows it, are
// expected.
void VolumeWatch::compare_mounts(const VolumeState& now, std::vector<std::string>& out) {
  if (now.mount == last_.mount) {
    if (const std::string changed = difference(last_.options, now.options); !changed.empty())
      out.push_back(fmt::format("was remounted: {}", changed));
    return;
  }
  if (now.mount == 0) {
    if (began_mounted_)
      out.emplace_back("was unmounted: what happens to it after that may not be recorded");
    return;
  }
  if (was_mounted_)
    out.emplace_back(
        "was unmounted and mounted again: the kernel started over, but a replay does not");
  was_mounted_ = true;
}

Status check_output(const OutputName& output, const Volume& volume,
                    std::vector<std::string>& notes) {
  E4R_TRY(const std::string behind_links, output_target(output));
  const std::string directory = directory_of(behind_links);
  struct stat st = {};
  if (::stat(directory.c_str(), &st) != 0)
    return error("{}: {}: {}", output.path(), directory, errno_text(errno));
  const Stored stored = find_storage(directory, volume.dev);
  if (stored == Stored::there)
    return error(
        "{}: lies on the recorded file system{}; give a place elsewhere with -o", output.path(),
        number_of(st.st_dev) == volume.dev ? "" : ", by way of a loop device or an overlay");
  if (stored == Stored::unknown)
    notes.push_back(fmt::format(
        "{}: lies on an overlay or a loop device, and e4replay cannot see what is below it: if "
        "that is the recorded file system, the recording contains its own writes",
        output.path()));
  return {};
}

}  // namespace e4r::record
