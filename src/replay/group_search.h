// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "policy/policy.h"
#include "replay/allocator.h"

namespace e4r::replay {

// The walk through the groups for one request (ext4_mb_regular_allocator and what it calls, Linux
// 6.1): goal first, then rung after rung. Ends with search.status found and the clusters taken from
// the state, or not found.
class GroupSearch {
 public:
  // `steering` may be null; its recorded result, if any, replaces what the search would take.
  GroupSearch(policy::Search& search, const policy::Policy& policy, Steering* steering)
      : search_(search), state_(search.state), policy_(policy), steering_(steering) {}

  // Runs the whole search. stream_* are the stream goal, used by stream requests.
  void run(std::uint32_t stream_group, std::uint32_t stream_start);

 private:
  using Group = state::Group;

  void try_goal();
  void set_order2();
  void climb(std::size_t rung);
  std::size_t run_rung(std::size_t index);
  bool walks(const policy::Rung& rung) const;
  // Groups that the walk would only count, from `group` on; moves `group` past them.
  std::uint32_t skip(const policy::Rung& rung, std::uint32_t& group, std::uint32_t left);
  bool good_enough(const policy::Rung& rung, std::uint32_t group);
  void prefetch_at(const policy::Rung& rung, std::uint32_t group);
  void prefetch_finish();
  void load(std::uint32_t group);

  void scan(const policy::Rung& rung, Group& group);
  void scan_chunks(Group& group);
  void scan_extents(Group& group, bool skip_short);
  void scan_striped(Group& group);
  [[nodiscard]] std::uint64_t stripe() const;
  void measure(Group& group, const state::Extent& extent);
  void check_limits(Group& group, bool finished);
  void take_best(Group& group);
  void take_best_or_anything();

  policy::Search& search_;
  state::FsState& state_;
  const policy::Policy& policy_;
  Steering* steering_;
  std::uint32_t prefetch_next_ = 0;  // where read-ahead goes on
  std::uint32_t prefetch_end_ = 0;   // the group after the last batch
  std::uint32_t prefetch_count_ = 0;
  std::uint64_t prefetch_reads_ = 0;
};

}  // namespace e4r::replay
