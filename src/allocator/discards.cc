// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/discards.h"

#include <algorithm>

namespace e4r::allocator {

void Discards::commit(const std::vector<state::FreedList::Entry>& given_back) {
  for (const state::FreedList::Entry& e : given_back)
    pending_.push_back({e.group, e.start, e.start + e.count, 0});
}

void Discards::free_at_once(const state::FsState& state, std::uint32_t group, std::uint32_t start,
                            std::uint32_t clusters) {
  send(state, group, start, clusters);
}

void Discards::send(const state::FsState& state, std::uint32_t group, std::uint32_t start,
                    std::uint32_t clusters) {
  const state::MountedGeometry& g = state.geometry();
  const BlockRange range = {g.block_of(group, start), g.to_blocks(clusters)};
  counts_.add(range.count);
  sent_.push_back(range);
}

std::uint64_t Discards::work(state::FsState& state, std::uint64_t most) {
  std::uint64_t sent = 0;
  while (sent < most && !pending_.empty()) {
    if (send_next(state, pending_.front()))
      ++sent;
    else
      pending_.pop_front();
  }
  return sent;
}

// Sends the next run of the extent; false when there is none.
bool Discards::send_next(state::FsState& state, Pending& pending) {
  state::Group& group = state.group(pending.group);
  if (group.corrupt || group.need_init) return false;
  if (pending.seen > 0 && group.free <= pending.seen) return false;
  const std::uint32_t clusters = state.geometry().clusters_in(pending.group);
  const std::uint32_t from = std::max(pending.start, group.first_free);
  if (from >= pending.end) return false;
  const std::uint32_t start = state::bitmap::find_clear(state.words(group), pending.end, from);
  if (start >= pending.end) return false;
  const std::uint32_t end = state::bitmap::find_set(state.words(group), clusters, start);
  (void)state.take(group, start, end - start);
  send(state, pending.group, start, end - start);
  (void)state.give(group, start, end - start);
  pending.seen += end - start;
  pending.start = end + 1;
  return true;
}

}  // namespace e4r::allocator
