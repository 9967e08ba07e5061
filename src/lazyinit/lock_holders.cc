// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/lock_holders.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "util/file.h"
#include "util/printable.h"
#include "util/units.h"

namespace e4r::lazyinit {
namespace {

constexpr std::size_t kMostOfCommand = 200;
constexpr int kMostAncestors = 1000;

// A line of /proc/locks, or (behind "lock:") of /proc/PID/fdinfo/FD, with device numbers in
// hexadecimal: "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF".
struct LockLine {
  std::string kind, access, pid, where, first, last;

  [[nodiscard]] bool is(LockKind wanted) const {
    return wanted == LockKind::whole ? kind == "FLOCK" : kind == "OFDLCK" || kind == "POSIX";
  }
  [[nodiscard]] bool is_exclusive() const {
    return access == "WRITE" && first == "0" && last == "EOF";
  }
};

LockLine parse_lock(const std::string& text) {
  LockLine line;
  std::string number, advisory;
  std::istringstream(text) >> number >> line.kind >> advisory >> line.access >> line.pid >>
      line.where >> line.first >> line.last;
  return line;
}

// A process's command line.
std::string command_of(const std::string& pid) {
  auto text = read_file(fmt::format("/proc/{}/cmdline", pid));
  if (!text.ok()) return {};
  std::ranges::replace(*text, '\0', ' ');
  while (text->ends_with(' ')) text->pop_back();
  return printable(*text, kMostOfCommand);
}

// The locks of this kind that the process has on the inode through its open files.
std::vector<LockLine> locks_of(const std::string& pid, const struct stat& st, LockKind kind) {
  std::vector<LockLine> locks;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + pid + "/fd", gone)) {
    struct stat open = {};
    if (::stat(entry.path().c_str(), &open) != 0 || open.st_dev != st.st_dev ||
        open.st_ino != st.st_ino)
      continue;
    const auto info = read_file("/proc/" + pid + "/fdinfo/" + entry.path().filename().string());
    if (!info.ok()) continue;
    std::istringstream lines(*info);
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view kLock = "lock:";
      if (!line.starts_with(kLock)) continue;
      const LockLine lock = parse_lock(line.substr(kLock.size()));
      if (lock.is(kind)) locks.push_back(lock);
    }
  }
  return locks;
}

// The process that started this one, from "PID (NAME) STATE PPID ...".
std::optional<std::string> parent_of(const std::string& pid) {
  const auto text = read_file("/proc/" + pid + "/stat");
  if (!text.ok()) return std::nullopt;
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::string state, parent;
  std::istringstream(text->substr(name_end + 1)) >> state >> parent;
  if (parent.empty() || parent == "0") return std::nullopt;
  return parent;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Searches the open files of all processes. Finds a process that inherited a lock, and the owner of
// an OFD lock, which /proc/locks does not name.
LockHolder search_all(const struct stat& st, LockKind kind) {
  const std::string self = std::to_string(::getpid());
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string pid = entry.path().filename().string();
    if (is_number(pid) && pid != self && !locks_of(pid, st, kind).empty())
      return {pid, command_of(pid)};
  }
  return {};
}

}  // namespace

bool LockHolder::ends_soon() const {
  return command.empty() || command.find("udev") != std::string::npos;
}

std::string LockHolder::text() const {
  if (pid.empty()) return "another process";
  if (command.empty()) return fmt::format("a process that the ended process {} started", pid);
  return fmt::format("process {} ({})", pid, command);
}

LockHolder holder_of(const struct stat& st, LockKind kind) {
  const std::string file =
      fmt::format("{:02x}:{:02x}:{}", major(st.st_dev), minor(st.st_dev), st.st_ino);
  const auto text = read_file("/proc/locks");
  std::istringstream lines(text.ok() ? *text : "");
  LockHolder named;
  for (std::string line; std::getline(lines, line);) {
    const LockLine lock = parse_lock(line);
    if (!lock.is(kind) || lock.where != file) continue;
    if (!is_number(lock.pid) || lock.pid == "0") break;  // of another PID namespace, or of nobody
    named = {lock.pid, command_of(lock.pid)};
    break;
  }
  if (!named.command.empty()) return named;
  const LockHolder found = search_all(st, kind);
  return found.pid.empty() ? named : found;
}

bool is_locked_for_us(const struct stat& st, LockKind kind) {
  std::optional<std::string> pid = std::to_string(::getpid());
  for (int i = 0; pid && i < kMostAncestors; ++i, pid = parent_of(*pid)) {
    const auto locks = locks_of(*pid, st, kind);
    if (std::ranges::any_of(locks, [](const LockLine& lock) { return lock.is_exclusive(); }))
      return true;
  }
  return false;
}

}  // namespace e4r::lazyinit
