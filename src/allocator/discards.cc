// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/discards.h"

#include <algorithm>

namespace e4r::allocator {

namespace {

// Finds the next free run that is long enough. Sets trim.start to the start of the run and returns
// its end, or returns 0 if there is no such run.
std::uint32_t find_run(const state::FsState& state, const state::Group& group, Trim& trim) {
  const std::uint32_t clusters = state.geometry().clusters_in(trim.group);
  const state::bitmap::ConstWords words = state.words(group);
  if (trim.seen == 0) {
    trim.from_first = trim.start == 0;
    trim.all = trim.from_first && trim.end >= clusters;
    trim.start = std::max(trim.start, group.first_free);
  }
  for (;;) {
    if (trim.seen > 0 && group.free < trim.seen + trim.minlen) return 0;
    if (trim.start >= trim.end) return 0;
    trim.start = state::bitmap::find_clear(words, trim.end, trim.start);
    if (trim.start >= trim.end) return 0;
    const std::uint32_t end = state::bitmap::find_set(words, clusters, trim.start);
    if (trim.from_first && end + 1 >= clusters) trim.all = true;
    if (end - trim.start >= trim.minlen) return end;
    trim.seen += end - trim.start;
    trim.start = end + 1;
  }
}

}  // namespace

void Discards::commit(const std::vector<state::FreedList::Entry>& given_back) {
  for (const state::FreedList::Entry& e : given_back)
    pending_.push_back({e.group, e.start, e.start + e.count});
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
  state.end_discard(0);
  std::uint64_t sent = 0;
  while (!pending_.empty()) {
    sent += continue_trim(state, pending_.front(), most - sent);
    if (!pending_.front().done) break;
    pending_.pop_front();
  }
  return sent;
}

std::uint64_t Discards::work(state::FsState& state, Trim& trim, std::uint64_t most) {
  state.load(trim.group);
  state.end_discard(trim.number);
  if (!trim.begun && state.group(trim.group).trimmed && !trim.even_trimmed) trim.done = true;
  trim.begun = true;
  return continue_trim(state, trim, most);
}

// Discards up to `most` runs. The last run stays in use unless `most` is kAll. The next call gives
// it back and then looks for the next run, as the kernel does.
std::uint64_t Discards::continue_trim(state::FsState& state, Trim& trim, std::uint64_t most) {
  state::Group& group = state.group(trim.group);
  if (group.corrupt || group.need_init) trim.done = true;
  std::uint64_t sent = 0;
  while (!trim.done) {
    Trim ahead = trim;
    const std::uint32_t end = find_run(state, group, ahead);
    if (end == 0) {
      if (ahead.all) group.trimmed = true;
      trim.done = true;
      break;
    }
    if (most == 0) break;
    const std::uint32_t start = ahead.start, clusters = end - start;
    state.begin_discard({trim.number, trim.group, start, clusters});
    send(state, trim.group, start, clusters);
    trim = ahead;
    trim.seen += clusters;
    trim.start = end + 1;
    if (++sent == most) break;
    state.end_discard(trim.number);
  }
  return sent;
}

}  // namespace e4r::allocator
