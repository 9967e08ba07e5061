// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "watch/watcher.h"

namespace e4r::watch {

// The names of processes and files; empty if unknown. They come from outside this program and must
// be escaped.
class Names {
 public:
  virtual ~Names() = default;
  [[nodiscard]] virtual std::string process(std::uint32_t pid) = 0;
  // Includes the mount point.
  [[nodiscard]] virtual std::string file(std::uint64_t ino) = 0;
};

// A current path of an inode, below the mount point of the file system with that device number.
// Uses open_by_handle_at() and /proc/self/fd, where the kernel shows a path if it has a name of the
// inode in memory. Empty if it does not, or if the inode is not in use. If the inode is not in
// memory, the kernel reads it, so the call may wait for the device. Needs CAP_DAC_READ_SEARCH.
// Keeps the file system busy only during the call.
[[nodiscard]] std::optional<std::string> path_of_inode(const std::string& mount_point,
                                                       std::uint32_t dev, std::uint64_t ino);

// The names on this machine. A process may have ended when its request is shown again, so its name
// is kept. Names of files are looked up again after some seconds, in a separate thread, so no
// caller waits for the file system.
class LiveNames final : public Names {
 public:
  LiveNames() = default;
  LiveNames(const LiveNames&) = delete;
  LiveNames& operator=(const LiveNames&) = delete;
  ~LiveNames() override;

  // Sets the file system to which inode numbers refer from now on.
  void set_place(const Report& report);
  // Looks up the names for all requests of the report, and waits for them for up to a tenth of a
  // second.
  void look_up(const Report& report);

  [[nodiscard]] std::string process(std::uint32_t pid) override;
  // The name as far as it is known now. If it is old or unknown, the thread looks it up.
  [[nodiscard]] std::string file(std::uint64_t ino) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    std::optional<std::string> path;
    Clock::time_point until = {};
    bool wanted = false;
  };

  void serve();

  std::map<std::uint32_t, std::string> processes_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::string mount_point_;
  std::uint32_t dev_ = 0;
  std::map<std::uint64_t, Known> files_;  // by inode
  std::vector<std::uint64_t> wanted_;     // inodes to look up; no more than files_ has
  bool ends_ = false;
  std::thread thread_;  // started by the first request
};

}  // namespace e4r::watch
