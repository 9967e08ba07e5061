// SPDX-License-Identifier: GPL-2.0-or-later
// Gives a kernel what the recorded file system held only in memory when the recording began.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <tuple>

#include "guest/kernel.h"

namespace e4r::guest {

Status KernelDecider::load_all() {
  e4r_op op = operation(E4R_LOAD);
  op.len = state_.group_count();
  return guest_->post(op);
}

// The start image shows these clusters as free. Makes the kernel allocate and free them, so that
// they wait for a commit.
Status KernelDecider::plant_freed() {
  const std::vector<state::FreedList::Entry>& freed = options_.planted.freed;
  const auto of = [&](e4r_op_kind kind, const state::FreedList::Entry& entry) {
    e4r_op op = operation(kind);
    op.goal = state_.geometry().block_of(entry.group, entry.start);
    op.len = entry.count;
    return op;
  };
  for (const state::FreedList::Entry& entry : freed) {
    E4R_TRY(const e4r_answer* taken, guest_->ask(of(E4R_TAKE, entry)));
    if (taken->error != 0)
      return error(
          "{}: clusters {}+{} of group {} wait for a commit, but {} cannot allocate them: {}",
          options_.named, entry.start, entry.count, entry.group, options_.kernel,
          errno_text(-taken->error));
  }
  for (const state::FreedList::Entry& entry : freed) {
    e4r_op op = of(E4R_FREE, entry);
    op.len = static_cast<std::uint32_t>(state_.geometry().to_blocks(entry.count));
    E4R_CHECK(guest_->post(op));
  }
  freed_.restore(freed, {});
  return {};
}

// Makes the preallocations in the order in which the recorded kernel made them, since the lists of
// groups have this order.
Status KernelDecider::plant_preallocs() {
  const std::vector<allocator::PlantedPrealloc>& preallocs = options_.planted.preallocs;
  std::vector<std::size_t> order(preallocs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return preallocs[i].made; });
  // By list: the places of its planted preallocations. A CPU has one list for each power of two.
  std::map<std::tuple<state::Prealloc::Kind, std::uint64_t, int>, std::vector<std::size_t>> lists;
  for (const std::size_t i : order) {
    const allocator::PlantedPrealloc& pa = preallocs[i];
    const bool of_cpu = pa.kind == state::Prealloc::Kind::group;
    e4r_op op = operation(E4R_PLANT, pa.owner);
    op.flags = of_cpu ? E4R_PLANT_OF_CPU : 0;
    // The driver gives CPUs beyond its limit one list, which no request uses.
    op.cpu = static_cast<std::uint32_t>(std::min<std::uint64_t>(pa.owner, UINT32_MAX));
    op.goal = state_.geometry().block_of(pa.group, pa.start);
    op.len = pa.len;
    op.logical = pa.logical;
    std::vector<std::size_t>& list =
        lists[{pa.kind, pa.owner, of_cpu ? static_cast<int>(std::bit_width(pa.len)) : 0}];
    op.before = static_cast<std::uint32_t>(
        std::ranges::count_if(list, [i](std::size_t other) { return other < i; }));
    list.push_back(i);
    E4R_CHECK(guest_->post(op));
  }
  return {};
}

Status KernelDecider::place_groups() {
  const auto place = [&](std::uint32_t group, std::uint32_t flag, std::uint32_t len = 0) {
    e4r_op op = operation(E4R_PLACE_GROUP);
    op.goal = group;
    op.flags = flag;
    op.len = len;
    return guest_->post(op);
  };
  const allocator::Planted& planted = options_.planted;
  for (const auto& [group, cluster] : planted.first_free)
    if (group < state_.group_count()) E4R_CHECK(place(group, E4R_PLACE_FIRST_FREE, cluster));
  for (const std::uint32_t group : planted.by_largest) E4R_CHECK(place(group, E4R_PLACE_LARGEST));
  for (const std::uint32_t group : planted.by_average) E4R_CHECK(place(group, E4R_PLACE_AVERAGE));
  return {};
}

}  // namespace e4r::guest
