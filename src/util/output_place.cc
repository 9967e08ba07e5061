// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/output_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>

#include "util/loop_devices.h"
#include "util/units.h"

namespace e4r {
namespace {

constexpr int kMostLinks = 40;  // as many as the kernel follows

Error cannot_write(const std::string& name, int errnum) {
  return error("cannot write {}: {}", name, errno_text(errnum));
}

// The descriptor that a name such as /dev/fd/N stands for.
std::optional<int> descriptor_named(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view in : {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"}) {
    if (!path.starts_with(in)) continue;
    const auto number = parse_u64(path.substr(in.size()));
    if (number.ok() && *number <= INT_MAX) return static_cast<int>(*number);
  }
  return std::nullopt;
}

// The target of a symbolic link, relative to the link's own directory.
std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> text = {};
  const ssize_t n = ::readlink(path.c_str(), text.data(), text.size());
  if (n <= 0) return {};
  const std::string target(text.data(), static_cast<std::size_t>(n));
  return target.starts_with('/') ? target : directory_of(path) + "/" + target;
}

// Follows links by hand, because a link's target need not exist, and a temporary file belongs
// beside it. First the kernel is asked whether it would follow the links (fs.protected_symlinks).
Result<OutputPlace> follow(const std::string& name) {
  OutputPlace place;
  place.target = name;
  struct stat behind = {};
  const bool there = ::stat(name.c_str(), &behind) == 0;
  if (!there && errno != ENOENT) return cannot_write(name, errno);
  for (int links = 0;; ++links) {
    if (const auto fd = descriptor_named(place.target)) {
      place.is = OutputPlace::Is::descriptor;
      place.descriptor = *fd;
      if (::fstat(*fd, &place.st) != 0) return cannot_write(name, errno);
      return place;
    }
    if (::lstat(place.target.c_str(), &place.st) != 0) {
      if (errno != ENOENT) return cannot_write(name, errno);
      if (there) break;  // only the kernel can follow it: another process's descriptor
      place.is = OutputPlace::Is::absent;
      return place;
    }
    if (!S_ISLNK(place.st.st_mode)) break;
    if (links == kMostLinks) return cannot_write(name, ELOOP);
    place.target = link_target(place.target);
    if (place.target.empty()) return cannot_write(name, ENOENT);
  }
  if (!there) return cannot_write(name, EAGAIN);  // the file has appeared meanwhile
  const bool found = file_id(place.st) == file_id(behind);
  place.st = behind;
  place.is = S_ISREG(behind.st_mode) ? OutputPlace::Is::regular : OutputPlace::Is::opened;
  if (found) return place;
  if (place.is == OutputPlace::Is::regular)
    return error("{}: is a link that cannot be followed to a name: give the file's own", name);
  place.target = name;
  return place;
}

std::string kind_of(mode_t mode) {
  if (S_ISBLK(mode)) return "a block device";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "no regular file";
}

Status check_type(const std::string& name, const OutputPlace& place, OutputKind kind) {
  if (place.is == OutputPlace::Is::absent) return {};
  const mode_t mode = place.st.st_mode;
  const bool socket = S_ISSOCK(mode) && place.is != OutputPlace::Is::descriptor;
  if (S_ISDIR(mode)) return cannot_write(name, EISDIR);
  if (S_ISBLK(mode) || socket)
    return error("{}: is {}, which is not written to: give the name of a file", name,
                 kind_of(mode));
  if (kind != OutputKind::file || place.is == OutputPlace::Is::regular) return {};
  if (place.is == OutputPlace::Is::descriptor)
    return error("{}: this output needs a regular file: give the name of one", name);
  return error("{}: is {}, and this output needs a regular file: give the name of one", name,
               kind_of(mode));
}

Status check_identity(const OutputName& name, const OutputPlace& place) {
  const bool keeps_data = S_ISREG(place.st.st_mode) || S_ISFIFO(place.st.st_mode);
  if (place.is == OutputPlace::Is::absent || !keeps_data) return {};
  const FileId id = file_id(place.st);
  if (const OutputName::Input* input = name.input_that_is(id))
    return input->path == name.path()
               ? error("{}: is read by the same command: give another name to write to",
                       name.path())
               : error("{}: is {}, which the same command reads: give another name to write to",
                       name.path(), input->path);
  if (const auto loops = loop_devices_of(id); !loops.empty())
    return error("{}: is the file behind /dev/{}: give another name to write to", name.path(),
                 loops.front());
  return {};
}

Status check_access(const std::string& name, const OutputPlace& place) {
  if (place.is == OutputPlace::Is::descriptor) {
    const int flags = ::fcntl(place.descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return cannot_write(name, EBADF);
    return {};
  }
  if (place.is != OutputPlace::Is::absent && ::access(place.target.c_str(), W_OK) != 0)
    return cannot_write(name, errno);
  if (place.is == OutputPlace::Is::opened) return {};
  if (place.target.ends_with('/')) return cannot_write(name, EISDIR);
  const std::string directory = directory_of(place.target);
  struct stat st = {};
  if (::stat(directory.c_str(), &st) != 0) return cannot_write(name, errno);
  if (!S_ISDIR(st.st_mode)) return cannot_write(name, ENOTDIR);
  if (::access(directory.c_str(), W_OK | X_OK) != 0) return cannot_write(name, errno);
  return {};
}

}  // namespace

std::string OutputPlace::identity() const {
  if (is == Is::absent) {
    const auto directory = file_id(directory_of(target));
    return fmt::format("{}:{}/{}", directory ? directory->device : 0,
                       directory ? directory->inode : 0,
                       target.substr(target.find_last_of('/') + 1));
  }
  return fmt::format("{}:{}", st.st_dev, st.st_ino);
}

Result<OutputPlace> find_place(const OutputName& name, OutputKind kind) {
  E4R_TRY(OutputPlace place, follow(name.path()));
  E4R_CHECK(check_type(name.path(), place, kind));
  E4R_CHECK(check_identity(name, place));
  E4R_CHECK(check_access(name.path(), place));
  return place;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

const OutputName::Input* OutputName::input_that_is(const FileId& id) const {
  if (inputs_ == nullptr) return nullptr;
  const auto found = std::ranges::find(*inputs_, id, &Input::id);
  return found == inputs_->end() ? nullptr : &*found;
}

}  // namespace e4r
