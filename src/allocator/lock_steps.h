// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace e4r::allocator {

// How many locks the groups share (NR_BG_LOCKS of a kernel for 32 CPUs or more, Linux 6.1): the
// lock of a group is that of its number modulo these.
inline constexpr std::uint32_t kGroupLocks = 128;
// Which of them are held.
using HeldLocks = std::bitset<kGroupLocks>;

// What a request does to a lock of the allocator.
struct LockStep {
  enum class What : std::uint8_t {
    take,   // who waits for it spins
    share,  // with others who share it; who waits for it spins
    sleep,  // who waits for it sleeps (a mutex)
    tries,  // who finds it taken goes on to another group
    let_go,
  };
  // In `lock`: the lock of the group of this number (ext4_lock_group).
  static constexpr std::uint64_t kOfGroup = 1ull << 63;

  std::uint64_t lock;  // equal numbers: the same lock
  std::uint32_t ns;    // since the request began, without what it waited
  std::uint16_t name;  // of LockNotes::names()
  What what;
};

// The locks that requests took, in the order of their requests. Whatever a request takes, it lets
// go.
class LockNotes {
 public:
  struct Request {
    std::span<const LockStep> steps;  // ascending
    std::uint32_t ns;                 // that it took
  };

  // The number of a lock's name.
  std::uint16_t name(std::string_view text);
  // A request that took so long, without any wait. Steps out of order, releases of what it does not
  // hold, and what it took and never let go are put right.
  void add(std::span<const LockStep> steps, std::uint32_t ns);
  // Forgets the requests, and keeps the names.
  void forget();

  [[nodiscard]] std::size_t size() const { return requests_.size(); }
  [[nodiscard]] Request operator[](std::size_t request) const;
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  struct Entry {
    std::uint64_t end;  // of its steps
    std::uint32_t ns;
  };
  std::vector<std::string> names_;
  std::vector<LockStep> steps_;
  std::vector<Entry> requests_;
};

}  // namespace e4r::allocator
