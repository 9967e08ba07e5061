// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/fs_state.h"

#include <algorithm>
#include <optional>

namespace e4r::state {
namespace {

// The number of groups that share a 4 KiB page of the buddy cache. Each group has two blocks there,
// one for the bitmap and one for the buddy.
std::uint32_t groups_per_page(const Geometry& geometry) {
  constexpr std::uint32_t kPageBits = 12;
  return geometry.block_bits + 1 < kPageBits ? 1u << (kPageBits - geometry.block_bits - 1) : 1u;
}

std::size_t words_for(std::uint32_t clusters) {
  return (clusters + 63) / 64;
}

}  // namespace

bool Source::has_metadata(const BlockRange& blocks) const {
  const auto after =
      std::partition_point(metadata.begin(), metadata.end(),
                           [&](const BlockRange& range) { return range.end() <= blocks.first; });
  return after != metadata.end() && after->first < blocks.end();
}

std::uint32_t average_list(std::uint32_t orders, std::uint32_t len) {
  const int order = fls(len) - 2;
  return std::min(static_cast<std::uint32_t>(std::max(order, 0)), orders - 1);
}

FsState::FsState(const Source& source, GroupIndex index, FreedMerging merging)
    : geometry_(source.geometry),
      index_(index),
      groups_(source.groups.size()),
      free_index_(static_cast<std::uint32_t>(source.groups.size())),
      freed_(merging),
      unread_(static_cast<std::uint32_t>(source.groups.size())) {
  for (std::uint32_t number = 0; number < groups_.size(); ++number) {
    const GroupSource& from = source.groups[number];
    Group& group = groups_[number];
    group.number = number;
    group.image = from.words;
    group.free = from.init_free;
    group.disk_free = from.disk_free;
    group.block_uninit = from.block_uninit;
    group.corrupt = from.corrupt;
    free_index_.update(number, group.free);
  }
}

bitmap::ConstWords FsState::words(const Group& group) const {
  if (group.own) return {group.own.get(), words_for(geometry_.clusters_per_group)};
  return group.image;
}

bitmap::Words FsState::own_words(Group& group) {
  const std::size_t count = words_for(geometry_.clusters_per_group);
  if (!group.own) {
    group.own = std::make_unique_for_overwrite<std::uint64_t[]>(count);
    std::copy_n(group.image.begin(), count, group.own.get());
  }
  return {group.own.get(), count};
}

// The groups whose bitmaps share a page with this group's bitmap.
std::span<Group> FsState::on_page_of(std::uint32_t number) {
  const std::uint32_t per_page = groups_per_page(geometry_);
  const std::uint32_t first = number / per_page * per_page;
  return std::span(groups_).subspan(first, std::min(per_page, geometry_.groups - first));
}

std::uint32_t FsState::load(std::uint32_t number,
                            const std::function<void(std::uint32_t group)>& loaded) {
  if (!groups_[number].need_init) return 0;
  std::uint32_t count = 0;
  for (Group& group : on_page_of(number)) {
    if (!group.need_init || group.corrupt) continue;
    load_one(group);
    if (loaded) loaded(group.number);
    ++count;
  }
  return count;
}

void FsState::load_for_try(std::uint32_t number, std::vector<Unloaded>& loaded) {
  for (const Group& group : on_page_of(number))
    if (group.need_init && !group.corrupt)
      loaded.push_back({group.number, group.free, group.moved_by_largest, group.moved_by_average});
  load(number);
}

void FsState::unload(const std::vector<Unloaded>& loaded) {
  for (const Unloaded& before : loaded) {
    Group& group = groups_[before.number];
    if (group.largest_order >= 0) move_by_largest(group, -1);
    if (group.average_order >= 0) move_by_average(group, -1);
    if (group.in_tree.is_linked()) tree_.erase(tree_.iterator_to(group));
    group.moved_by_largest = before.moved_by_largest;
    group.moved_by_average = before.moved_by_average;
    group.counters.fill(0);
    group.fragments = 0;
    group.first_free = 0;
    group.free = before.free;
    group.corrupt = false;
    group.need_init = true;
    --loaded_;
    free_index_.update(group.number, group.free);
  }
}

void FsState::load_one(Group& group) {
  const bitmap::ConstWords bits = words(group);
  const std::uint32_t limit = geometry_.clusters_per_group;
  group.counters.fill(0);
  group.fragments = 0;
  std::uint32_t free = 0;
  std::uint32_t at = bitmap::find_clear(bits, limit, 0);
  group.first_free = at;
  while (at < limit) {
    const std::uint32_t end = bitmap::find_set(bits, limit, at);
    count_chunks(group.counters, geometry_.orders(), at, end - at, 1);
    ++group.fragments;
    free += end - at;
    at = bitmap::find_clear(bits, limit, end);
  }
  if (free != group.free) {
    // Descriptor and bitmap disagree. The kernel uses the bitmap's count and never allocates in
    // this group.
    group.free = free;
    group.corrupt = true;
  }
  group.need_init = false;
  ++loaded_;
  update_index(group);
}

int FsState::largest_order_of(const Group& group) const {
  int order = static_cast<int>(geometry_.orders()) - 1;
  while (order >= 0 && group.counters[static_cast<std::size_t>(order)] == 0) --order;
  return order;
}

int FsState::average_order_of(const Group& group) const {
  if (group.fragments > 0)
    return static_cast<int>(average_list(geometry_.orders(), average_run(group)));
  return index_ == GroupIndex::lists_keep_full ? group.average_order : -1;
}

void FsState::update_index(Group& group) {
  free_index_.update(group.number, group.free);
  const int largest = largest_order_of(group);
  if (largest != group.largest_order || index_ == GroupIndex::tree_to_end)
    move_by_largest(group, largest);
  if (index_ == GroupIndex::none) return;
  if (has_tree(index_)) return move_in_tree(group);
  const int average = average_order_of(group);
  if (average != group.average_order) move_by_average(group, average);
}

// Moves the group to the end of its new list.
void FsState::move_by_largest(Group& group, int order) {
  const int old = group.largest_order;
  group.largest_order = static_cast<std::int8_t>(order);
  const bool in = order >= 0 && group.free > 0;
  if (has_lists()) {
    group.by_largest.unlink();
    group.moved_by_largest = true;
    if (in) largest_[static_cast<std::size_t>(order)].push_back(group);
  } else if (index_ == GroupIndex::sets) {
    if (old >= 0) largest_sets_[static_cast<std::size_t>(old)].erase(group.number);
    if (in) largest_sets_[static_cast<std::size_t>(order)].insert(group.number, geometry_.groups);
  }
}

void FsState::move_by_average(Group& group, int order) {
  const int old = group.average_order;
  group.average_order = static_cast<std::int8_t>(order);
  if (has_lists()) {
    group.by_average.unlink();
    group.moved_by_average = true;
    if (order >= 0) average_[static_cast<std::size_t>(order)].push_back(group);
  } else {
    if (old >= 0) average_sets_[static_cast<std::size_t>(old)].erase(group.number);
    if (order >= 0)
      average_sets_[static_cast<std::size_t>(order)].insert(group.number, geometry_.groups);
  }
}

// Removes the group and inserts it again, even if its average is unchanged
// (mb_update_avg_fragment_size, Linux 5.15).
void FsState::move_in_tree(Group& group) {
  if (group.fragments == 0) return;
  if (group.in_tree.is_linked()) tree_.erase(tree_.iterator_to(group));
  tree_.insert(group);
}

Buddy& FsState::buddy(Group& group) {
  if (!group.buddy)
    group.buddy =
        std::make_unique<Buddy>(words(group), geometry_.clusters_per_group, geometry_.orders());
  return *group.buddy;
}

// A run no longer than `needed` is returned whole, no matter how it is divided into chunks.
Extent FsState::find_extent(Group& group, std::uint32_t at, std::uint32_t needed) {
  const bitmap::ConstWords bits = words(group);
  const std::uint32_t limit = geometry_.clusters_per_group;
  const std::uint32_t enough = needed < limit - at ? at + needed + 1 : limit;
  const std::uint32_t run_end = bitmap::find_set(bits, enough, at);
  if (run_end == at) return {};
  if (run_end - at <= needed) return {group.number, at, run_end - at, 0};
  const Buddy& chunks = buddy(group);
  std::uint32_t next = chunks.end_of_chunk(at);
  while (needed > next - at) next = chunks.end_of_chunk(next);
  return {group.number, at, next - at, 0};
}

Buddy::Split FsState::take(Group& group, std::uint32_t start, std::uint32_t len) {
  Buddy& chunks = buddy(group);
  const bitmap::Words bits = own_words(group);
  group.free -= len;
  if (group.first_free == start) group.first_free += len;
  const bool left = start != 0 && !bitmap::test(bits, start - 1);
  const bool right = start + len < geometry_.clusters_per_group && !bitmap::test(bits, start + len);
  if (left && right) ++group.fragments;
  if (!left && !right) --group.fragments;
  const Buddy::Split split = chunks.take(start, len, group.counters);
  update_index(group);
  bitmap::set_range(bits, start, len);
  return split;
}

bool FsState::give(Group& group, std::uint32_t start, std::uint32_t len) {
  if (group.corrupt) return true;
  if (group.need_init || !geometry_.holds(group.number, start, len)) return false;
  Buddy& chunks = buddy(group);
  const bitmap::Words bits = own_words(group);
  if (!bitmap::all_set(bits, start, len)) return false;
  const bool left = start != 0 && !bitmap::test(bits, start - 1);
  const bool right = start + len < geometry_.clusters_per_group && !bitmap::test(bits, start + len);
  group.free += len;
  group.first_free = std::min(group.first_free, start);
  if (left && right) --group.fragments;
  if (!left && !right) ++group.fragments;
  chunks.give(start, len, bits, group.counters);
  bitmap::clear_range(bits, start, len);
  update_index(group);
  return true;
}

void FsState::begin_discard(const Discarding& range) {
  (void)take(group(range.group), range.start, range.len);
  discarding_.push_back(range);
}

void FsState::end_discard(std::uint64_t by) {
  const auto found = std::ranges::find(discarding_, by, &Discarding::by);
  if (found == discarding_.end()) return;
  const Discarding range = *found;
  discarding_.erase(found);
  (void)give(group(range.group), range.start, range.len);
}

void FsState::end_discards_in(std::uint32_t group, std::uint32_t start, std::uint64_t len) {
  for (;;) {
    const auto found = std::ranges::find_if(
        discarding_, [&](const Discarding& range) { return range.overlaps(group, start, len); });
    if (found == discarding_.end()) return;
    end_discard(found->by);
  }
}

// Commits the transactions that freed clusters of the range, and all earlier ones. A commit in
// progress returns only the extents that overlap the range.
void FsState::commit_frees_in(std::uint32_t number, std::uint32_t start, std::uint32_t len) {
  if (committing_)
    for (const FreedList::Entry& entry : freed_.take_overlapping(number, start, len, *committing_))
      give_back(entry);
  std::optional<std::uint64_t> newest;
  for (const FreedList::Entry& entry : freed_.entries_of(number))
    if (entry.overlaps(start, len)) newest = std::max(newest.value_or(0), entry.transaction);
  while (newest && !freed_.empty() && freed_.entries().front().transaction <= *newest)
    commit(freed_.entries().front().transaction);
}

// Whether the range contains clusters that a preallocation has not handed out yet.
bool FsState::is_preallocated(const Group& group, std::uint32_t start, std::uint32_t len) const {
  return group.index.any_near(start, len, [&](const Prealloc& pa) {
    const std::uint32_t base =
        // A group preallocation is used from its front.
        pa.made_at + (pa.made_len - pa.len);
    const std::uint32_t from = std::max(base, start);
    const std::uint32_t to = std::min(base + pa.len, start + len);
    if (from >= to) return false;
    return pa.kind == Prealloc::Kind::group ||
           bitmap::find_clear(pa.used, to - base, from - base) < to - base;
  });
}

// Releases all preallocations that overlap the range, newest first.
void FsState::release_overlapping(const Group& group, std::uint32_t start, std::uint32_t len) {
  std::vector<Prealloc*> there;
  (void)group.index.any_near(start, len, [&](Prealloc& pa) {
    const std::uint32_t base = pa.made_at + (pa.made_len - pa.len);
    if (base < start + len && start < base + pa.len) there.push_back(&pa);
    return false;
  });
  std::sort(there.begin(), there.end(),
            [](const Prealloc* a, const Prealloc* b) { return a->serial > b->serial; });
  there.erase(std::unique(there.begin(), there.end()), there.end());
  for (Prealloc* pa : there) release(*pa);
}

void FsState::enlist(Prealloc& pa) {
  pa.group = geometry_.group_of(pa.block);
  pa.made_at = geometry_.cluster_in_group(pa.block);
  pa.made_len = pa.len;
  pa.serial = ++preallocs_made_;
  groups_[pa.group].preallocs.push_front(pa);
  groups_[pa.group].index.add(pa);
}

std::uint32_t FsState::force_take(std::uint32_t number, std::uint32_t start, std::uint32_t len,
                                  std::vector<std::uint64_t>& held) {
  if (!geometry_.holds(number, start, len)) return len;
  Group& group = groups_[number];
  load(number);
  end_discards_in(number, start, len);
  release_overlapping(group, start, len);
  commit_frees_in(number, start, len);
  const std::uint32_t end = start + len;
  if (!bitmap::all_clear(words(group), start, len)) {
    held.assign(words_for(len), 0);
    for (std::uint32_t i = 0; i < len; ++i)
      if (bitmap::test(words(group), start + i)) bitmap::set(held, i);
  }
  std::uint32_t taken = 0;
  std::uint32_t at = bitmap::find_clear(words(group), end, start);
  while (at < end) {
    const std::uint32_t stop = bitmap::find_set(words(group), end, at);
    take(group, at, stop - at);
    taken += stop - at;
    at = bitmap::find_clear(words(group), end, stop);
  }
  return len - taken;
}

void FsState::forget_inode(std::uint64_t ino) {
  const InodePreallocs* found = inode_preallocs_.find(ino);
  if (found != nullptr && found->list.empty()) inode_preallocs_.erase(ino);
}

void FsState::drop(Prealloc& pa) {
  groups_[pa.group].index.remove(pa);
  pa.in_group.unlink();
  if (pa.kind == Prealloc::Kind::inode && pa.in_owner.is_linked())
    --inode_preallocs_[pa.owner].active;
  pa.in_owner.unlink();
  pool_.recycle(pa);
}

std::uint32_t FsState::release(Prealloc& pa) {
  const auto give_back = [&](std::uint32_t start, std::uint32_t len) {
    Group& group = groups_[geometry_.group_of(pa.block)];
    if (!give(group, geometry_.cluster_in_group(pa.block) + start, len)) ++bad_frees_;
    return len;
  };
  std::uint32_t released = 0;
  if (pa.kind == Prealloc::Kind::group) {
    if (pa.len > 0) released = give_back(0, pa.len);
  } else {
    std::uint32_t at = bitmap::find_clear(pa.used, pa.len, 0);
    while (at < pa.len) {
      const std::uint32_t end = bitmap::find_set(pa.used, pa.len, at);
      released += give_back(at, end - at);
      at = bitmap::find_clear(pa.used, pa.len, end);
    }
  }
  drop(pa);
  return released;
}

Status FsState::free_clusters(std::uint32_t number, std::uint32_t start, std::uint32_t count,
                              std::uint64_t transaction, bool at_once) {
  if (!geometry_.holds(number, start, count))
    return error("free of {} clusters at {}/{} lies outside the file system", count, number, start);
  Group& group = groups_[number];
  if (group.corrupt) return {};
  load(number);
  end_discards_in(number, start, count);
  if (!bitmap::all_set(words(group), start, count))
    return error("free of {} clusters at {}/{}, part of which is free already", count, number,
                 start);
  if (is_preallocated(group, start, count))
    return error("free of {} clusters at {}/{}, part of which is preallocated", count, number,
                 start);
  if (at_once) {
    group.trimmed = false;
    give(group, start, count);
  } else if (!freed_.add(number, start, count, transaction, event_)) {
    return error("free of {} clusters at {}/{}, part of which was freed before", count, number,
                 start);
  }
  group.disk_free += count;
  return {};
}

void FsState::commit(std::uint64_t transaction, std::uint64_t last_event) {
  for (const FreedList::Entry& entry : freed_.take_committed(transaction, last_event))
    give_back(entry);
}

void FsState::give_back(const FreedList::Entry& entry) {
  if (!give(groups_[entry.group], entry.start, entry.count)) ++bad_frees_;
  groups_[entry.group].trimmed = false;
  if (geometry_.discard) given_back_.push_back(entry);
}

void FsState::write_first_bitmap(Group& group) {
  group.block_uninit = false;
  group.disk_free = bitmap::count_clear(group.image, geometry_.clusters_per_group);
}

void FsState::note_made(std::uint64_t ino) {
  if (geometry_.inodes_per_group == 0) return;
  const std::uint64_t group = (ino - 1) / geometry_.inodes_per_group;
  if (group >= group_count() || !groups_[group].block_uninit) return;
  clear_block_uninit(static_cast<std::uint32_t>(group));
  if (geometry_.desc_csum) (void)mark_read(groups_[group]);
}

bool FsState::mark_read(Group& group) {
  if (group.read) return false;
  group.read = true;
  --unread_;
  return true;
}

void FsState::settled_words(std::uint32_t number, std::vector<std::uint64_t>& out) const {
  const Group& group = groups_[number];
  const bitmap::ConstWords bits = words(group);
  out.assign(bits.begin(),
             bits.begin() + static_cast<std::ptrdiff_t>(words_for(geometry_.clusters_per_group)));
  for (const Prealloc& pa : group.preallocs) {
    const std::uint32_t base = geometry_.cluster_in_group(pa.block);
    for (std::uint32_t i = 0; i < pa.len; ++i)
      if (pa.kind == Prealloc::Kind::group || !bitmap::test(pa.used, i))
        bitmap::clear(out, base + i);
  }
  for (const FreedList::Entry& entry : freed_.entries_of(number))
    bitmap::clear_range(out, entry.start, entry.count);
  for (const Discarding& range : discarding_)
    if (range.group == number) bitmap::clear_range(out, range.start, range.len);
}

// The implementation of FsState::check(), which tests the invariants that every operation must
// preserve.

namespace {

// Collects broken invariants up to a limit.
class Report {
 public:
  explicit Report(std::size_t limit) : limit_(limit) {}
  template <class... Args>
  void expect(bool ok, fmt::format_string<Args...> format, Args&&... args) {
    if (!ok && lines_.size() < limit_)
      lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::size_t limit_;
  std::vector<std::string> lines_;
};

void check_counters(const Geometry& geometry, const Group& group, bitmap::ConstWords bits,
                    Report& report) {
  OrderCounters counters{};
  std::uint32_t free = 0;
  std::uint32_t fragments = 0;
  const std::uint32_t limit = geometry.clusters_per_group;
  const std::uint32_t first = bitmap::find_clear(bits, limit, 0);
  for (std::uint32_t at = first; at < limit;) {
    const std::uint32_t end = bitmap::find_set(bits, limit, at);
    count_chunks(counters, geometry.orders(), at, end - at, 1);
    for (std::uint32_t c = at; group.buddy && c < end;) {
      const std::uint32_t order = group.buddy->order_at(c);
      const std::uint32_t start = c >> order << order;
      report.expect(start == c && start + (1u << order) <= end,
                    "group {}: buddy chunk {}+{} does not fit the free run {}-{}", group.number,
                    start, 1u << order, at, end - 1);
      c = start + (1u << order);
    }
    free += end - at;
    ++fragments;
    at = bitmap::find_clear(bits, limit, end);
  }
  report.expect(free == group.free, "group {}: {} clusters are free, {} counted", group.number,
                free, group.free);
  report.expect(fragments == group.fragments, "group {}: {} free runs, {} counted", group.number,
                fragments, group.fragments);
  report.expect(counters == group.counters, "group {}: chunk counters differ from the bitmap",
                group.number);
  report.expect(first == limit || group.first_free <= first,
                "group {}: first free cluster {} lies below the recorded {}", group.number, first,
                group.first_free);
}

void check_index(const FsState& state, const Group& group, Report& report) {
  const Geometry& geometry = state.geometry();
  int largest = static_cast<int>(geometry.orders()) - 1;
  while (largest >= 0 && group.counters[static_cast<std::size_t>(largest)] == 0) --largest;
  report.expect(largest == group.largest_order, "group {}: largest order {} recorded as {}",
                group.number, largest, static_cast<int>(group.largest_order));
  const bool lists = state.has_lists();
  report.expect(group.by_largest.is_linked() == (lists && largest >= 0),
                "group {}: wrongly on or off its largest-order list", group.number);
  const bool on_average = group.fragments > 0 || (state.index() == GroupIndex::lists_keep_full &&
                                                  group.average_order >= 0);
  const bool tree = has_tree(state.index());
  report.expect(!tree || group.fragments == 0 || group.in_tree.is_linked(),
                "group {}: not in the tree by average", group.number);
  report.expect(group.by_average.is_linked() == (lists && !tree && on_average),
                "group {}: wrongly on or off its average-fragment list", group.number);
  const bool sets = state.index() == GroupIndex::sets;
  for (std::uint32_t order = 0; order < geometry.orders(); ++order) {
    const auto here = static_cast<int>(order);
    report.expect(state.largest_set(order).contains(group.number) == (sets && largest == here),
                  "group {}: wrongly in or out of the set of largest order {}", group.number,
                  order);
    report.expect(state.average_set(order).contains(group.number) ==
                      (sets && group.fragments > 0 && group.average_order == here),
                  "group {}: wrongly in or out of the set of average order {}", group.number,
                  order);
  }
}

// Checks that preallocations and freed ranges are in use, inside the group, and disjoint.
void check_claims(const Geometry& geometry, const Group& group, bitmap::ConstWords bits,
                  const std::vector<FreedList::Entry>& freed, Report& report) {
  std::vector<std::uint64_t> claimed((geometry.clusters_per_group + 63) / 64, 0);
  const auto claim = [&](std::uint32_t start, std::uint32_t len, std::string_view what) {
    const bool inside = start + len <= geometry.clusters_in(group.number);
    report.expect(inside, "group {}: {} {}+{} leaves the group", group.number, what, start, len);
    if (!inside) return;
    report.expect(bitmap::all_set(bits, start, len), "group {}: {} {}+{} is not in use",
                  group.number, what, start, len);
    report.expect(bitmap::all_clear(claimed, start, len),
                  "group {}: {} {}+{} overlaps another claim", group.number, what, start, len);
    bitmap::set_range(claimed, start, len);
  };
  for (const Prealloc& pa : group.preallocs) {
    const std::uint32_t base = geometry.cluster_in_group(pa.block);
    std::uint32_t unused = 0;
    for (std::uint32_t i = 0; i < pa.len; ++i) {
      if (pa.kind == Prealloc::Kind::inode && bitmap::test(pa.used, i)) continue;
      claim(base + i, 1, "preallocation");
      ++unused;
    }
    const auto is_it = [&](const Prealloc& other) { return &other == &pa; };
    report.expect(pa.len == 0 || group.index.any_near(base, pa.len, is_it),
                  "group {}: the preallocation at {} is not in the index", group.number, base);
    report.expect(unused == pa.free, "group {}: preallocation at {} has {} clusters left, says {}",
                  group.number, base, unused, pa.free);
  }
  for (const auto& entry : freed) claim(entry.start, entry.count, "freed range");
}

}  // namespace

std::vector<std::string> FsState::check(std::size_t limit) const {
  Report report(limit);
  std::unordered_map<std::uint32_t, std::vector<FreedList::Entry>> freed;
  for (const FreedList::Entry& entry : freed_.entries()) freed[entry.group].push_back(entry);
  static const std::vector<FreedList::Entry> kNone;
  for (const Group& group : groups_) {
    if (group.need_init || group.corrupt) continue;
    const bitmap::ConstWords bits = words(group);
    const auto mine = freed.find(group.number);
    check_counters(geometry_, group, bits, report);
    check_index(*this, group, report);
    check_claims(geometry_, group, bits, mine == freed.end() ? kNone : mine->second, report);
    report.expect(free_index_.next(group.number, group.free) == group.number,
                  "group {}: the free index holds too little", group.number);
  }
  report.expect(bad_frees_ == 0, "{} ranges were given back that were free already", bad_frees_);
  return report.take();
}

}  // namespace e4r::state
