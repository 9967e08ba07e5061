// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "replay/op_stream.h"
#include "state/freed_list.h"

namespace e4r::replay {

// The frees of a trace, by group, and other orders in which they may have taken effect. The kernel
// writes ext4_mballoc_free before it takes the group's lock and adds the extent to the group's tree
// of freed extents (ext4_mb_clear_bb, Linux 5.4 to 7.3). So a free takes effect between this event
// and the next event of its thread, and another thread's free may come first. The order determines
// the shape of the tree, and the shape determines which extents freed later merge
// (state::FreedMerging) and when a commit returns them.
class FreeOrder {
 public:
  explicit FreeOrder(state::FreedMerging merging) : merging_(merging) {}

  // Records an operation of the trace before it takes effect. `freed` are the freed extents then,
  // and `transaction` is the running transaction.
  void note(const Op& op, const state::FreedList& freed, std::uint64_t transaction);
  // Records that the commit of `transaction` returns the extents freed up to `last_event`, or only
  // removes them from their trees.
  void note_returned(std::uint64_t transaction, std::uint64_t last_event);
  void note_unlinked(std::uint64_t transaction, std::uint64_t last_event);

  // One free in another place: the free at event `event` takes effect after the free at event
  // `after`.
  struct Other {
    std::uint64_t event = 0, after = 0;
    state::FreedList::Group freed;  // the freed extents of the group with this order
  };
  // Finds at most `most` orders of the group's frees that lead to freed extents other than `now`.
  // Each order moves only one free; orders that move the latest frees come first. Empty if the
  // recorded frees do not lead to `now`.
  [[nodiscard]] std::vector<Other> find_others(std::uint32_t group,
                                               const state::FreedList::Group& now,
                                               std::size_t most);
  // Keeps this order from now on.
  void keep(std::uint32_t group, const Other& other);
  // Forgets all frees.
  void clear();

  // set_mark() marks this moment. return_to_mark() forgets what was noted and kept since then, and
  // can be called again later.
  void set_mark();
  void return_to_mark();

 private:
  struct Free {
    std::uint64_t at = 0;              // its place in the order of all steps
    std::uint64_t until = UINT64_MAX;  // step before which it took effect
    std::uint64_t event = 0;
    std::uint64_t transaction = 0;
    std::uint32_t pid = 0;
    std::uint32_t start = 0, count = 0;
  };
  // A part of a commit.
  struct Part {
    std::uint64_t at = 0;
    std::uint64_t transaction = 0, last_event = 0;
    bool returned = false;
  };
  struct Last {
    std::uint32_t group = 0;
    std::uint64_t at = 0;
    std::size_t index = 0;  // among the group's frees, unless other frees were moved or forgotten
  };
  void note_step_of(std::uint32_t thread);
  [[nodiscard]] state::FreedList::Group simulate(std::uint32_t group,
                                                 const std::vector<Free>& frees);
  [[nodiscard]] static std::vector<Free> moved(std::vector<Free> frees, std::size_t from,
                                               std::size_t to);

  // What return_to_mark() restores.
  struct Mark {
    std::size_t parts = 0;
    std::unordered_map<std::uint32_t, Last> last;
    std::uint64_t steps = 0, event = 0, budget = 0;
    std::unordered_map<std::uint32_t, std::vector<Free>> changed;  // groups, before their change
  };
  void keep_for_mark(std::uint32_t group);

  state::FreedMerging merging_;
  std::uint32_t thread_ = 0;  // the thread of the first free
  bool many_ = false;         // another thread has freed clusters; frees are recorded only in this
                              // case
  std::unordered_map<std::uint32_t, std::vector<Free>> frees_;  // by group
  std::vector<Part> parts_;
  std::unordered_map<std::uint32_t, Last> last_;  // the last free of each thread
  std::uint64_t steps_ = 0;
  std::uint64_t event_ = 0;  // the last event that an operation has reached
  std::optional<Mark> mark_;
  std::uint64_t budget_ = 0;  // how many steps may still be simulated
};

}  // namespace e4r::replay
