// SPDX-License-Identifier: GPL-2.0-or-later
// FsState::check: the invariants that every operation must preserve.
#include "state/fs_state.h"

namespace e4r::state {
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
  report.expect(group.by_average.is_linked() == (lists && on_average),
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
