// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ext4/criterion.h"
#include "state/fs_state.h"

namespace e4r::allocator {

struct Search;
struct Rung;

// Why a rung refuses a group.
enum class Refusal : std::uint8_t {
  none,         // the rung accepts it
  corrupt,      // the group is marked as corrupt
  full,         // no free cluster
  few_free,     // fewer free clusters than the rung needs
  not_loaded,   // its buddy is not loaded, and the rung does not load it
  flex_first,   // the first group of a flex group, reserved for directories and metadata
  low_order,    // no free chunk of the goal's order
  low_average,  // the average free extent is shorter than the goal
};

// Receives the steps of a decision, in order, through Search::tell. By default, the members do
// nothing. Without an observer, each step costs one comparison.
class SearchObserver {
 public:
  virtual ~SearchObserver() = default;
  // The search tried the goal. `found` is the free extent that starts there; its length is 0 if the
  // goal's first cluster is in use.
  virtual void on_goal(const Search&, const Extent& /*found*/, bool /*taken*/) {}
  // A rung begins at `group`.
  virtual void on_rung(const Search&, const Rung&, std::uint32_t /*group*/) {}
  // A rung looked at a group; refusal() gives the verdict.
  virtual void on_group(const Search&, const Rung&, const state::Group&) {}
  // A walk skipped `count` groups, starting at `group`, each with fewer than `least` free clusters.
  virtual void on_pass(std::uint32_t /*group*/, std::uint32_t /*count*/, std::uint32_t /*least*/) {}
  // The search found the group on a list but skipped it because it is not good enough.
  virtual void on_listed(const Search&, const state::Group&) {}
  // The rung asked the order lists, or one class of groups, for a goal of `len` clusters. `group`
  // is the answer; nullopt if there is no further group.
  virtual void on_index(mb::Criterion, std::uint32_t /*len*/,
                        std::optional<std::uint32_t> /*group*/) {}
  // The scan examined a free extent. `best` says whether it is now the best candidate.
  virtual void on_extent(const Extent&, bool /*best*/) {}
  // The scan of a group is over; `found` counts the extents that the search has examined so far.
  virtual void on_scan(const state::Group&, std::uint32_t /*found*/) {}
  // The search took clusters out of the buddy. This happens during a scan, or after on_goal or
  // on_return.
  virtual void on_take(const Extent&) {}
  // The group's buddy was generated. Groups that share a page are reported one after the other.
  virtual void on_load(std::uint32_t /*group*/) {}
  // The search reached its limit and returns to the group of its best candidate.
  virtual void on_return(const state::Group&) {}
  // A preallocation in this group was dropped because it was used up or because its locality group
  // had too many preallocations.
  virtual void on_drop(std::uint32_t /*group*/) {}
  // The search found nothing and starts again. `discarded` says whether preallocations were
  // discarded first.
  virtual void on_retry(bool /*discarded*/) {}
};

// Why the rung refuses the group in its present state; Refusal::none if it accepts the group.
[[nodiscard]] Refusal refusal(const Search& search, const Rung& rung, const state::Group& group);

// The number of locks that all groups share (NR_BG_LOCKS of a kernel for 32 CPUs or more, Linux
// 6.1). A group uses the lock whose index is the group number modulo this number.
inline constexpr std::uint32_t kGroupLocks = 128;
using HeldLocks = std::bitset<kGroupLocks>;

// One operation of a request on a lock of the allocator.
struct LockStep {
  enum class What : std::uint8_t {
    take,   // a waiter spins
    share,  // shared with others; a waiter spins
    sleep,  // a mutex; a waiter sleeps
    tries,  // a thread that finds the lock taken skips the group
    let_go,
  };
  // Set in `lock` for the lock of a group (ext4_lock_group); the other bits are the group's number.
  static constexpr std::uint64_t kOfGroup = 1ull << 63;

  std::uint64_t lock;  // equal numbers are the same lock
  std::uint32_t ns;    // time since the request began, excluding waits
  std::uint16_t name;  // index into LockNotes::names()
  What what;
};

// The locks that requests took, in the order of the requests. A request releases every lock that it
// takes.
class LockNotes {
 public:
  struct Request {
    std::span<const LockStep> steps;  // ascending
    std::uint32_t ns;                 // duration of the request, excluding waits
  };

  // Returns the index of a lock's name; adds the name if it is new.
  std::uint16_t name(std::string_view text);
  // Adds a request that took `ns` nanoseconds, excluding waits. Repairs steps out of order,
  // releases of locks that are not held, and locks that were never released.
  void add(std::span<const LockStep> steps, std::uint32_t ns);
  // Clears the requests but keeps the names.
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
