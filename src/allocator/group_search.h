// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "allocator/allocator.h"
#include "allocator/policy.h"
#include "allocator/search.h"
#include "allocator/stream_goals.h"

namespace e4r::allocator {

// Searches the groups for one request (ext4_mb_regular_allocator and its callees): first the goal,
// then one rung after the other. If the search succeeds, search.status is `found` and the clusters
// have been taken from the state.
class GroupSearch {
 public:
  GroupSearch(Search& search, const Policy& policy)
      : search_(search),
        state_(search.state),
        policy_(policy),
        stripes_(policy.kernel.stripe),
        read_ahead_(search, policy.kernel.read_ahead),
        indexed_(is_indexed(policy.kernel.groups.indexed, search.state.geometry().extents)) {}

  // Runs the whole search. A stream's request starts where the stream of its inode left off, unless
  // the rules choose the starting place of all searches.
  void run(const StreamGoals& streams, const SearchStart& start);

 private:
  using Group = state::Group;
  using Status = Search::Status;

  // Counts the hit in the counter that the kernel would use.
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
  bool ask_next(const Rung& rung, std::uint32_t& group);
  std::optional<std::uint32_t> ask(const Rung& rung);
  void visit(const Rung& rung, std::uint32_t group);
  // Counts the groups from `group` on that have too few free clusters, at most `left`, and moves
  // `group` past them. A walk would do no more than count these groups. Returns their number.
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
  bool may_take_best();
  void take_best(Group& group);
  void take_best_or_anything();

  Search& search_;
  state::FsState& state_;
  const Policy& policy_;
  const StripeRules& stripes_;
  ReadAhead read_ahead_;
  bool indexed_;              // searches for this file may use the index, if there is one
  bool walked_ = false;       // the previous rung has already done the next rung's walk
  bool after_round_ = false;  // the next rung runs even if it does not apply to the request
  // The number of visits so far of each group in Search::passed_over.
  std::array<unsigned, PassedOver::kMost> visited_{};
};

}  // namespace e4r::allocator
