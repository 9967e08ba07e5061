// SPDX-License-Identifier: GPL-2.0-or-later
#include "mke2fs-lazy/undo_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string_view>

#include "util/file.h"

namespace e4r::tools {
namespace {

constexpr const char* kDirectory = "E2FSPROGS_UNDO_DIR";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string configured_directory() {
  const char* named = std::getenv("MKE2FS_CONFIG");
  const auto text = read_file(named != nullptr ? named : "/etc/mke2fs.conf");
  return (text.ok() ? undo_dir_in(*text) : std::nullopt).value_or("/var/lib/e2fsprogs");
}

std::string directory() {
  if (const char* given = std::getenv(kDirectory); given != nullptr) return given;
  std::string found = configured_directory();
  ::setenv(kDirectory, found.c_str(), 1);
  return found;
}

}  // namespace

std::optional<std::string> undo_dir_in(const std::string& text) {
  std::istringstream lines(text);
  bool in_defaults = false;
  for (std::string line; std::getline(lines, line);) {
    const std::string_view words = trimmed(line);
    if (words.starts_with('[')) {
      in_defaults = words.starts_with("[defaults]");
      continue;
    }
    const std::size_t equals = words.find('=');
    if (!in_defaults || equals == std::string_view::npos) continue;
    if (trimmed(words.substr(0, equals)) != "undo_dir") continue;
    std::string_view value = trimmed(words.substr(equals + 1));
    if (value.starts_with('"')) {
      value.remove_prefix(1);
      value = value.substr(0, value.find('"'));
    }
    return std::string(value);
  }
  return std::nullopt;
}

UndoFile::UndoFile(const lazyinit::MkfsOptions& options) : path_(options.undo_file) {
  if (path_.empty()) {
    const std::string place = directory();
    if (place.empty() || place == "none" || ::access(place.c_str(), W_OK) != 0) return;
    const std::string& device = options.device;
    path_ = place + "/mke2fs-" + device.substr(device.find_last_of('/') + 1) + ".e2undo";
  }
  before_ = look();
}

bool UndoFile::Identity::same_as(const Identity& other) const {
  return inode == other.inode && changed.tv_sec == other.changed.tv_sec &&
         changed.tv_nsec == other.changed.tv_nsec;
}

std::optional<UndoFile::Identity> UndoFile::look() const {
  struct stat st = {};
  if (path_.empty() || ::stat(path_.c_str(), &st) != 0) return std::nullopt;
  return Identity{st.st_ino, st.st_ctim};
}

std::optional<std::string> UndoFile::made() const {
  const auto now = look();
  if (!now || (before_ && before_->same_as(*now))) return std::nullopt;
  return path_;
}

}  // namespace e4r::tools
