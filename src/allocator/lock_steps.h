// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace e4r::allocator {

// The number of locks that all groups share (NR_BG_LOCKS of a kernel for 32 CPUs or more, Linux
// 6.1). A group uses the lock of its number modulo this.
inline constexpr std::uint32_t kGroupLocks = 128;
using HeldLocks = std::bitset<kGroupLocks>;

// What a request does to a lock of the allocator.
struct LockStep {
  enum class What : std::uint8_t {
    take,   // a waiter spins
    share,  // shared with others; a waiter spins
    sleep,  // a mutex; a waiter sleeps
    tries,  // a thread that finds it taken goes on to another group
    let_go,
  };
  // Marks `lock` as the lock of a group (ext4_lock_group); the other bits are the group's number.
  static constexpr std::uint64_t kOfGroup = 1ull << 63;

  std::uint64_t lock;  // equal numbers are the same lock
  std::uint32_t ns;    // since the request began, excluding waits
  std::uint16_t name;  // index into LockNotes::names()
  What what;
};

// The locks that requests took, in the order of the requests. A request releases every lock that it
// takes.
class LockNotes {
 public:
  struct Request {
    std::span<const LockStep> steps;  // ascending
    std::uint32_t ns;                 // duration of the request
  };

  // Returns the number of a lock's name; adds the name if it is new.
  std::uint16_t name(std::string_view text);
  // Adds a request that took `ns` without waiting. Repairs steps out of order, releases of locks
  // that are not held, and locks that were never released.
  void add(std::span<const LockStep> steps, std::uint32_t ns);
  // Forgets the requests but keeps the names.
  void forget();

  [[nodiscard]] std::size_t size() const { return requests_.size(); }
  [[nodiscard]] Request operator[](std::size_t request) const;
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  struct Entry {
    std::uint64_t end;  // one past its last step
    std::uint32_t ns;
  };
  std::vector<std::string> names_;
  std::vector<LockStep> steps_;
  std::vector<Entry> requests_;
};

}  // namespace e4r::allocator
