// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "trace/event.h"

namespace e4r::replay {

// The discards of an inode's preallocations that have not taken effect. The kernel writes
// ext4_discard_preallocations before it waits for the locks of the groups. It frees the clusters of
// each preallocation under such a lock, and writes ext4_mb_release_inode_pa there (Linux 5.4 to
// 7.3). So a search of another thread may end between the two events. A discard takes effect at its
// thread's next event. It takes effect earlier if another thread's event names the inode, or after
// kMostEvents events, since a thread may have no further event.
class LateDiscards {
 public:
  static constexpr std::uint64_t kMostEvents = 256;

  // Adds a discard. `number` is the event's number in the trace.
  void add(const trace::Event& discard, std::uint64_t number) {
    discards_.push_back({discard, number});
  }
  [[nodiscard]] bool empty() const { return discards_.empty(); }

  // Removes the discards that take effect just before the event, and calls fn(discard) for each.
  template <class Fn>
  void settle(const trace::Event& event, std::uint64_t number, Fn fn) {
    std::erase_if(discards_, [&](const Late& late) {
      const bool over = late.discard.pid == event.pid || late.discard.ino == event.ino ||
                        number - late.number > kMostEvents;
      if (over) fn(late.discard);
      return over;
    });
  }
  // Removes all discards, and calls fn(discard) for each.
  template <class Fn>
  void settle_all(Fn fn) {
    for (const Late& late : discards_) fn(late.discard);
    discards_.clear();
  }

 private:
  struct Late {
    trace::Event discard;
    std::uint64_t number = 0;
  };
  std::vector<Late> discards_;
};

// Whether the event begins a discard of preallocations that may take effect later. A discard that
// names a count trims an inode's long list, which the model does itself.
[[nodiscard]] inline bool begins_discard(const trace::Event& event) {
  return event.kind == trace::EventKind::discard_preallocations && event.needed == 0;
}
// Whether that discard has preallocations to free. Only then LateDiscards follows it.
[[nodiscard]] inline bool may_be_late(const trace::Event& event) {
  return begins_discard(event) && event.count > 0;
}

}  // namespace e4r::replay
