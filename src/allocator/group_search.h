// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>

#include "allocator/allocator.h"
#include "allocator/policy.h"
#include "allocator/read_ahead.h"
#include "allocator/search_start.h"
#include "allocator/stream_goals.h"

namespace e4r::allocator {

// The walk through the groups for one request (ext4_mb_regular_allocator and what it calls): goal
// first, then rung after rung. Ends with search.status found and the clusters taken from
// the state, or not found.
class GroupSearch {
 public:
  GroupSearch(Search& search, const Policy& policy)
      : search_(search),
        state_(search.state),
        policy_(policy),
        stripes_(policy.kernel.stripe),
        read_ahead_(search, policy.kernel.read_ahead),
        indexed_(search.state.geometry().extents || policy.kernel.groups.without_extents) {}

  // Runs the whole search. Requests for streams start where the inode's stream goes on, unless all
  // searches have one place to start at.
  void run(const StreamGoals& streams, const SearchStart& start);

 private:
  using Group = state::Group;
  using Status = Search::Status;

  // Where the kernel counts that the search found something.
  void count_hit();
  void try_goal();
  void set_order2();
  [[nodiscard]] bool can_align() const;
  void climb(std::size_t rung);
  std::size_t run_rung(std::size_t index);
  std::size_t run_classes(std::size_t index);
  void search_classes(const Rung& rung, std::uint32_t from);
  void search_class(const Rung& rung, const GroupClass& wanted, std::uint32_t first,
                    std::uint32_t end);
  [[nodiscard]] bool walks(const Rung& rung) const;
  [[nodiscard]] bool by_classes(const Rung& rung) const;
  [[nodiscard]] std::uint32_t first_group() const;
  void step(std::uint32_t& group) const;
  std::optional<std::uint32_t> ask(const Rung& rung);
  void visit(const Rung& rung, std::uint32_t group);
  // Groups that the walk would only count, from `group` on; moves `group` past them.
  std::uint32_t skip(const Rung& rung, std::uint32_t& group, std::uint32_t left);
  bool good_enough(const Rung& rung, std::uint32_t group);
  bool leave(std::uint32_t group);
  void load(std::uint32_t group);

  void scan(const Rung& rung, Group& group);
  void scan_chunks(Group& group);
  void scan_extents(Group& group, Lengths lengths);
  void scan_striped(Group& group);
  void measure(Group& group, const Extent& extent);
  void check_limits(Group& group, bool finished);
  void take_best(Group& group);
  void take_best_or_anything();

  Search& search_;
  state::FsState& state_;
  const Policy& policy_;
  const StripeRules& stripes_;
  ReadAhead read_ahead_;
  bool indexed_;              // this file is searched for by the index of groups, if there is one
  bool walked_ = false;       // the linear part of the rung that is next has been walked already
  bool after_round_ = false;  // the rung that is next comes even if it is none for the search
};

}  // namespace e4r::allocator
