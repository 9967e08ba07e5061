// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/output_watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "util/file_id.h"

namespace e4r::record {

OutputWatch::OutputWatch(const std::string& path) : path_(path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode))
    file_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

Status OutputWatch::check() {
  struct stat st = {};
  if (!file_.is_open() || ::fstat(file_.get(), &st) != 0) return {};
  if (st.st_nlink == 0)
    return error("{}: was removed while it was recorded: nothing is left of it", path_);
  const auto named = file_id(path_);
  if (named != file_id(st)) {
    std::error_code failed;
    const std::string now = std::filesystem::read_symlink(file_.path(), failed);
    return error("{}: was renamed while it was recorded{}{}", path_, now.empty() ? "" : ": it is ",
                 now);
  }
  // A file that was truncated and then written on has a hole. SEEK_HOLE returns the end for a file
  // without holes.
  const off_t hole = ::lseek(file_.get(), 0, SEEK_HOLE);
  const bool shrunk = st.st_size < std::exchange(largest_, std::max(largest_, st.st_size));
  if (shrunk || (hole >= 0 && hole < st.st_size))
    return error("{}: was truncated while it was recorded: what was in it is lost", path_);
  return {};
}

}  // namespace e4r::record
