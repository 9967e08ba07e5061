// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/checkpoint.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "allocator/model.h"
#include "replay/order_search.h"

namespace e4r::replay {
namespace {

using allocator::PlantedPrealloc;
using allocator::StreamGoals;
using state::FsState;
using state::Group;
namespace bitmap = state::bitmap;

// A stream goal that was set before the checkpoint gets a request number that no trace reaches.
// These numbers count down from this one.
constexpr std::uint64_t kEarlier = allocator::kLatestGoal - 1;

Checkpoint::Prealloc kept(const state::Prealloc& pa, bool serves) {
  Checkpoint::Prealloc out;
  out.kind = pa.kind;
  out.owner = serves ? pa.owner : PlantedPrealloc::kNobody;
  out.made = pa.serial;
  out.group = pa.group;
  out.start = pa.made_at;
  out.made_len = pa.made_len;
  out.len = pa.len;
  if (pa.kind == state::Prealloc::Kind::group) return out;
  out.logical = pa.logical;
  bitmap::for_each_clear_run(pa.used, pa.len, [&](std::uint32_t first, std::uint32_t end) {
    out.unused.push_back({first, end - first});
  });
  return out;
}

std::vector<Checkpoint::Prealloc> preallocs_of(FsState& state) {
  std::set<std::uint64_t> inodes;
  std::set<std::uint32_t> cpus;
  std::vector<Checkpoint::Prealloc> out;
  for (std::uint32_t number = 0; number < state.group_count(); ++number)
    for (const state::Prealloc& pa : state.group(number).preallocs) {
      if (!pa.in_owner.is_linked())
        out.push_back(kept(pa, false));
      else if (pa.kind == state::Prealloc::Kind::inode)
        inodes.insert(pa.owner);
      else
        cpus.insert(static_cast<std::uint32_t>(pa.owner));
    }
  for (const std::uint64_t ino : inodes)
    for (const state::Prealloc& pa : state.inode_preallocs(ino).list) out.push_back(kept(pa, true));
  for (const std::uint32_t cpu : cpus)
    for (const auto& bucket : state.locality(cpu).buckets)
      for (const state::Prealloc& pa : bucket) out.push_back(kept(pa, true));
  return out;
}

// Numbers the preallocations in the order in which they were made.
void number_from_one(std::vector<Checkpoint::Prealloc>& preallocs) {
  std::vector<Checkpoint::Prealloc*> order;
  order.reserve(preallocs.size());
  for (Checkpoint::Prealloc& pa : preallocs) order.push_back(&pa);
  std::ranges::sort(order, {}, [](const Checkpoint::Prealloc* pa) { return pa->made; });
  std::uint64_t number = 0;
  for (Checkpoint::Prealloc* pa : order) pa->made = ++number;
}

void keep_freed(const FsState& state, Checkpoint& out) {
  for (const auto& entry : state.freed().entries()) {
    out.freed.push_back({entry.group, entry.start, entry.count});
    if (!out.freed_shapes.contains(entry.group))
      out.freed_shapes[entry.group] = state.freed().shape(entry.group);
  }
}

void keep_groups(FsState& state, Checkpoint& out) {
  const std::uint32_t limit = state.geometry().clusters_per_group;
  for (std::uint32_t number = 0; number < state.group_count(); ++number) {
    const Group& group = state.group(number);
    if (group.trimmed) out.trimmed.push_back(number);
    if (group.first_free < bitmap::find_clear(state.words(group), limit, 0))
      out.first_free[number] = group.first_free;
  }
  out.index = state.index();
  if (!state.has_lists()) return;
  out.largest.resize(state.geometry().orders());
  out.average.resize(state.geometry().orders());
  for (std::uint32_t order = 0; order < state.geometry().orders(); ++order) {
    for (const Group& group : state.largest(order))
      out.largest[order].push_back({group.number, group.moved_by_largest});
    for (const Group& group : state.average(order))
      out.average[order].push_back({group.number, group.moved_by_average});
  }
  if (state::has_tree(out.index)) out.tree = state.tree_shape();
}

// Keeps the stream goals that a request at this moment may find: all goals except goals that
// another search has certainly replaced (Dictation::continues_from).
void keep_streams(const StreamGoals& goals, const Spans& spans, Checkpoint& out) {
  out.streams.resize(goals.streams());
  for (std::size_t stream = 0; stream < goals.streams(); ++stream) {
    std::vector<StreamGoals::Goal>& kept = out.streams[stream];
    std::uint64_t replaced = 0;
    goals.for_each(stream, [&](const StreamGoals::Goal& goal) {
      const Spans::Span* span = spans.find(goal.request);
      if ((span == nullptr ? 0 : span->closed) >= replaced)
        kept.push_back({goal.group, goal.start, kEarlier - kept.size()});
      if (span != nullptr) replaced = std::max(replaced, span->asked);
      return true;
    });
    std::ranges::reverse(kept);
  }
}

}  // namespace

Result<Checkpoint> Checkpoint::take(OrderSearch& run, std::vector<std::uint32_t> freeing_data) {
  allocator::Model& model = run.model();
  FsState& state = model.own_state();
  if (run.holds() || model.committing() || !state.discarding().empty())
    return error("an operation is in progress");
  if (state.groups_loaded() < state.group_count())
    for (std::uint32_t number = 0; number < state.group_count(); ++number)
      if (state.group(number).need_init && !state.group(number).corrupt)
        return error("group {} is not loaded", number);
  Checkpoint out;
  out.preallocs = preallocs_of(state);
  number_from_one(out.preallocs);
  keep_freed(state, out);
  keep_groups(state, out);
  keep_streams(model.allocator().streams(), run.spans(), out);
  out.cursor = model.allocator().search_start().cursor();
  allocator::Discards& discards = model.own_discards();
  discards.commit(state.take_given_back());
  (void)discards.work(state, 0);
  out.discards.assign(discards.pending().begin(), discards.pending().end());
  out.freeing_data = std::move(freeing_data);
  std::ranges::sort(out.freeing_data);
  out.trials = run.trials_left();
  run.file_facts().for_each([&](std::uint64_t ino, const FileFacts::File& facts) {
    out.files.push_back({ino, facts});
  });
  return out;
}

namespace {

// The clusters that are in use in the start image or that an entry of the checkpoint claims.
class Claims {
 public:
  explicit Claims(const state::Source& source) : source_(source) {}

  // Claims the clusters. Returns false if a cluster is outside the group or already claimed.
  bool add(std::uint32_t group, std::uint32_t start, std::uint32_t len) {
    if (len == 0 || !source_.geometry.holds(group, static_cast<std::int64_t>(start), len) ||
        source_.groups[group].corrupt)
      return false;
    auto [at, is_new] = words_.try_emplace(group);
    if (is_new)
      at->second.assign(source_.groups[group].words.begin(), source_.groups[group].words.end());
    if (!bitmap::all_clear(at->second, start, len)) return false;
    bitmap::set_range(at->second, start, len);
    return true;
  }

 private:
  const state::Source& source_;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> words_;
};

bool claim(const Checkpoint::Prealloc& pa, const Geometry& geometry, Claims& claims) {
  if (pa.len == 0 || pa.len > pa.made_len ||
      !geometry.holds(pa.group, static_cast<std::int64_t>(pa.start), pa.made_len))
    return false;
  if (pa.kind == state::Prealloc::Kind::group)
    return (pa.owner == PlantedPrealloc::kNobody || pa.owner <= UINT32_MAX) &&
           claims.add(pa.group, pa.start + (pa.made_len - pa.len), pa.len);
  const auto inside = [&](const ClusterRange& run) {
    return run.first < pa.len && run.count <= pa.len - run.first &&
           claims.add(pa.group, pa.start + run.first, run.count);
  };
  return pa.len == pa.made_len && !pa.unused.empty() &&
         pa.logical + geometry.to_blocks(pa.len) <= kMaxFileBlocks &&
         std::ranges::all_of(pa.unused, inside);
}

bool is_in(const std::vector<std::vector<Checkpoint::Listed>>& lists, std::uint32_t groups) {
  return lists.size() <= state::kMaxOrders && std::ranges::all_of(lists, [&](const auto& list) {
           return std::ranges::all_of(
               list, [&](const Checkpoint::Listed& listed) { return listed.group < groups; });
         });
}

}  // namespace

Status Checkpoint::check(const state::Source& source) const {
  const state::MountedGeometry& geometry = source.geometry;
  Claims claims(source);
  for (const Prealloc& pa : preallocs)
    if (!claim(pa, geometry, claims))
      return error("the preallocation at cluster {} of group {} does not fit the start image",
                   pa.start, pa.group);
  for (const Freed& range : freed)
    if (!claims.add(range.group, range.start, range.count))
      return error("the freed extent at cluster {} of group {} does not fit the start image",
                   range.start, range.group);
  const auto is_group = [&](std::uint32_t group) { return group < geometry.groups; };
  const auto is_goal = [&](const StreamGoals::Goal& goal) {
    return is_group(goal.group) && goal.start < geometry.clusters_per_group;
  };
  const auto is_trim = [&](const allocator::Trim& trim) {
    return is_group(trim.group) && trim.start < trim.end &&
           trim.end <= geometry.clusters_in(trim.group);
  };
  const bool fits =
      is_group(cursor) && is_in(largest, geometry.groups) && is_in(average, geometry.groups) &&
      std::ranges::all_of(trimmed, is_group) && std::ranges::all_of(discards, is_trim) &&
      std::ranges::all_of(first_free, [&](const auto& one) { return is_group(one.first); }) &&
      std::ranges::all_of(streams,
                          [&](const auto& goals) { return std::ranges::all_of(goals, is_goal); });
  return fits ? Status() : error("its groups are not those of the start image");
}

namespace {

// Makes the preallocation but does not add it to its owner's list.
state::Prealloc& make(const Checkpoint::Prealloc& from, FsState& state) {
  const state::MountedGeometry& geometry = state.geometry();
  Group& group = state.group(from.group);
  state::Prealloc& pa = state.new_prealloc();
  pa.kind = from.kind;
  pa.owner = from.owner;
  pa.logical = from.logical;
  pa.block = geometry.block_of(from.group, from.start);
  pa.len = from.made_len;
  state.enlist(pa);
  if (from.kind == state::Prealloc::Kind::group) {
    const std::uint32_t front = from.made_len - from.len;
    (void)state.take(group, from.start + front, from.len);
    pa.block += geometry.to_blocks(front);
    pa.len = pa.free = from.len;
    return pa;
  }
  pa.used.assign((pa.len + 63) / 64, 0);
  pa.mark_used(0, pa.len);
  pa.free = 0;
  for (const ClusterRange& run : from.unused) {
    (void)state.take(group, from.start + run.first, run.count);
    bitmap::clear_range(pa.used, run.first, run.count);
    pa.free += run.count;
  }
  return pa;
}

void give_to_owner(state::Prealloc& pa, FsState& state) {
  if (pa.owner == PlantedPrealloc::kNobody) return;
  if (pa.kind == state::Prealloc::Kind::group) {
    const int order = std::min(fls(pa.free) - 1, static_cast<int>(state::kLocalityBuckets) - 1);
    auto& buckets = state.locality(static_cast<std::uint32_t>(pa.owner)).buckets;
    buckets[static_cast<std::size_t>(order)].push_back(pa);
    return;
  }
  state::InodePreallocs& mine = state.inode_preallocs(pa.owner);
  mine.list.push_back(pa);
  ++mine.active;
}

void restore(const std::vector<Checkpoint::Prealloc>& preallocs, FsState& state) {
  std::vector<std::size_t> order(preallocs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return preallocs[i].made; });
  std::vector<state::Prealloc*> made(preallocs.size());
  for (const std::size_t i : order) made[i] = &make(preallocs[i], state);
  for (state::Prealloc* pa : made) give_to_owner(*pa, state);
}

void restore_freed(const Checkpoint& from, FsState& state) {
  std::vector<state::FreedList::Entry> entries;
  for (const Checkpoint::Freed& freed : from.freed) {
    (void)state.take(state.group(freed.group), freed.start, freed.count);
    entries.push_back({freed.group, freed.start, freed.count, 0, entries.size() + 1});
  }
  state.own_freed().restore(entries, from.freed_shapes);
}

// Restores the order of the lists. Marks the groups that had joined their list since the start.
void arrange(state::OrderLists which, const std::vector<std::vector<Checkpoint::Listed>>& lists,
             bool Group::*moved, FsState& state) {
  std::vector<std::uint32_t> rank(state.group_count(), UINT32_MAX);
  if (lists.empty()) std::iota(rank.begin(), rank.end(), 0u);
  std::uint32_t next = 0;
  for (const auto& list : lists)
    for (const Checkpoint::Listed& listed : list) rank[listed.group] = next++;
  state.arrange(which, rank);
  for (const auto& list : lists)
    for (const Checkpoint::Listed& listed : list) state.group(listed.group).*moved = listed.moved;
}

void restore_lists(const Checkpoint& from, FsState& state) {
  const bool same = from.index == state.index();
  if (!state.has_lists()) return;
  for (std::uint32_t order = 0; same && order < from.average.size(); ++order)
    for (const Checkpoint::Listed& listed : from.average[order])
      state.keep_on_average(listed.group, order);
  static const std::vector<std::vector<Checkpoint::Listed>> kAscending;
  arrange(state::OrderLists::largest, same ? from.largest : kAscending, &Group::moved_by_largest,
          state);
  arrange(state::OrderLists::average, same ? from.average : kAscending, &Group::moved_by_average,
          state);
  if (same) state.set_tree(from.tree);
}

void restore_streams(const Checkpoint& from, allocator::Allocator& allocator) {
  StreamGoals& goals = allocator.own_streams();
  if (from.streams.size() == goals.streams()) {
    for (std::size_t i = 0; i < from.streams.size(); ++i) goals.restore(i, from.streams[i]);
    return;
  }
  allocator.plant(from.latest_streams());
}

}  // namespace

std::vector<allocator::PlantedStreamGoal> Checkpoint::latest_streams() const {
  std::vector<allocator::PlantedStreamGoal> out;
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (!streams[i].empty()) out.push_back({i, streams[i].back().group, streams[i].back().start});
  return out;
}

allocator::Planted Checkpoint::planted() const {
  allocator::Planted out;
  for (const Prealloc& from : preallocs) {
    const bool of_cpu = from.kind == state::Prealloc::Kind::group;
    const std::uint32_t len = of_cpu ? from.len : from.made_len;
    out.preallocs.push_back({.kind = from.kind,
                             .owner = from.owner,
                             .group = from.group,
                             .start = from.start + from.made_len - len,
                             .len = len,
                             .logical = from.logical,
                             .made = from.made});
  }
  out.streams = latest_streams();
  for (const Freed& entry : freed)
    out.freed.push_back({entry.group, entry.start, entry.count, 0, out.freed.size() + 1});
  const auto flatten = [](const std::vector<std::vector<Listed>>& lists) {
    std::vector<std::uint32_t> groups;
    for (const auto& list : lists)
      for (const Listed& listed : list) groups.push_back(listed.group);
    return groups;
  };
  out.by_largest = flatten(largest);
  out.by_average = flatten(average);
  for (const auto& [group, first] : first_free) out.first_free.push_back({group, first});
  return out;
}

void Checkpoint::put_into(allocator::Model& model) const {
  FsState& state = model.own_state();
  restore(preallocs, state);
  restore_freed(*this, state);
  const std::uint32_t limit = state.geometry().clusters_per_group;
  for (std::uint32_t number = 0; number < state.group_count(); ++number) {
    Group& group = state.group(number);
    group.first_free = bitmap::find_clear(state.words(group), limit, 0);
  }
  for (const auto& [number, first] : first_free) {
    Group& group = state.group(number);
    group.first_free = std::min(group.first_free, first);
  }
  for (const std::uint32_t group : trimmed) state.group(group).trimmed = true;
  restore_lists(*this, state);
  restore_streams(*this, model.allocator());
  model.allocator().search_start().finish(cursor);
  model.own_discards().restore({discards.begin(), discards.end()});
}

}  // namespace e4r::replay
