// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/random_events.h"

#include <array>
#include <limits>

#include "util/rng.h"

namespace e4r::trace::test {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, bool printable) : rng_(seed), printable_(printable) {}

  Event next() {
    Event e;
    e.kind = static_cast<EventKind>(rng_.below(kEventKinds));
    if (printable_ && e.kind == EventKind::lost_events) e.kind = EventKind::request_blocks;
    fill(e.cpu, 2);
    fill(e.pid, 3);
    e.time_ns = time();
    if (e.kind == EventKind::lost_events) {
      fill(e.count, 100);
      return e;
    }
    e.dev = make_dev(static_cast<std::uint32_t>(rng_.below(3)),
                     static_cast<std::uint32_t>(rng_.below(2)));
    fields(e);
    return e;
  }

 private:
  // Fills a field with a value that is mostly small, and sometimes any value.
  template <class T>
  void fill(T& field, std::uint64_t small) {
    field = static_cast<T>(rng_.chance(9, 10) ? rng_.below(small + 1) : rng_.next());
  }
  std::uint64_t time() {
    if (rng_.chance(1, 2)) time_ += rng_.below(100) * 1000;
    if (rng_.chance(1, 20)) time_ -= rng_.below(1000000);
    if (rng_.chance(1, 50)) time_ = rng_.next();
    return printable_ ? time_ % 18'000'000'000'000'000'000ULL : time_;
  }
  void extent(RecordedExtent& x, bool located = true) {
    fill(x.group, 64);
    fill(x.start, 32768);
    fill(x.len, 2048);
    if (located) fill(x.logical, 1000);
  }
  mb::Criterion criterion() {
    static constexpr std::array kPrintable = {mb::Criterion::cr0,        mb::Criterion::cr1,
                                              mb::Criterion::best_avail, mb::Criterion::cr2,
                                              mb::Criterion::cr3,        mb::Criterion::past_last};
    if (printable_) return kPrintable[rng_.below(kPrintable.size())];
    return mb::kCriterionTable[rng_.below(mb::kTableCriteria)].criterion;
  }

  void request(Event& e) {
    fill(e.ino, 20);
    fill(e.flags, 0x7fff);
    fill(e.count, 16);
    fill(e.logical, 1000);
    fill(e.goal, 1 << 20);
    fill(e.left_logical, 1000);
    fill(e.right_logical, 1000);
    fill(e.left_block, 1 << 20);
    fill(e.right_block, 1 << 20);
    if (e.kind == EventKind::allocate_blocks) fill(e.block, 1 << 20);
    e.has_inputs = rng_.chance(1, 3);
    if (!e.has_inputs) return;
    fill(e.i_size, 1 << 20);
    fill(e.i_writecount, 2);
  }
  void search(Event& e) {
    fill(e.ino, 20);
    extent(e.orig);
    extent(e.goal_ex);
    extent(e.result);
    fill(e.found, 200);
    fill(e.groups, 200);
    e.criterion = criterion();
    fill(e.flags, 0xffff);
    fill(e.tail, 100);
    fill(e.broken, 100);
    if (rng_.chance(1, 3)) fill(e.orig_goal_len, 600);
  }
  void run(Event& e) {
    fill(e.block, 1 << 20);
    fill(e.count, 100);
  }

  void fields(Event& e) {
    switch (e.kind) {
      case EventKind::request_blocks:
      case EventKind::allocate_blocks:
        return request(e);
      case EventKind::mballoc_alloc:
        return search(e);
      case EventKind::mballoc_prealloc:
        fill(e.ino, 20);
        extent(e.orig);
        return extent(e.result);
      case EventKind::new_inode_pa:
      case EventKind::new_group_pa:
        fill(e.ino, 20);
        fill(e.logical, 1000);
        return run(e);
      case EventKind::release_inode_pa:
        fill(e.ino, 20);
        return run(e);
      case EventKind::release_group_pa:
        return run(e);
      case EventKind::discard_preallocations:
        fill(e.ino, 20);
        fill(e.count, 100);
        return fill(e.needed, 1);
      case EventKind::mb_discard_preallocations:
        e.count = static_cast<std::uint32_t>(rng_.next());
        return;
      case EventKind::free_blocks:
        fill(e.ino, 20);
        fill(e.mode, 0x81ff);
        fill(e.flags, 0x3f);
        return run(e);
      case EventKind::mballoc_free:
      case EventKind::mballoc_discard:
        fill(e.ino, 20);
        return extent(e.result, false);
      case EventKind::buddy_bitmap_load:
      case EventKind::bitmap_load:
        return fill(e.group, 64);
      case EventKind::allocate_inode:
        fill(e.ino, 20);
        fill(e.parent, 20);
        return fill(e.mode, 0x81ff);
      case EventKind::free_inode:
        fill(e.ino, 20);
        return fill(e.mode, 0x81ff);
      case EventKind::commit_flushing:
      case EventKind::end_commit:
        return fill(e.block, 100);
      case EventKind::prefetch_bitmaps:
        fill(e.group, 64);
        fill(e.count, 64);
        return fill(e.needed, 16);
      default:
        return status_fields(e);
    }
  }

  // Fills the fields of extent status events and of lost_events.
  void status_fields(Event& e) {
    switch (e.kind) {
      case EventKind::es_lookup_exit:
        fill(e.found, 1);
        [[fallthrough]];
      case EventKind::es_insert_extent:
      case EventKind::es_cache_extent:
      case EventKind::es_insert_delayed_block:
        fill(e.block, 1 << 20);
        e.flags = static_cast<std::uint32_t>(rng_.below(32));
        [[fallthrough]];
      case EventKind::es_remove_extent:
        fill(e.count, 100);
        [[fallthrough]];
      case EventKind::es_lookup_enter:
        fill(e.ino, 20);
        return fill(e.logical, 1000);
      case EventKind::es_shrink:
        e.has_inputs = rng_.chance(1, 3);
        if (e.has_inputs) fill(e.groups, 128);
        fill(e.tail, 1);
        fill(e.needed, 10);
        fill(e.found, 128);
        return fill(e.count, 1000);
      case EventKind::es_shrink_scan_enter:
        fill(e.needed, 128);
        return fill(e.count, 1000);
      case EventKind::es_shrink_scan_exit:
        fill(e.found, 128);
        return fill(e.count, 1000);
      case EventKind::discard_blocks:
        fill(e.block, 1 << 20);
        return fill(e.count, 1000);
      case EventKind::trim_all_free:
        fill(e.group, 64);
        fill(e.logical, 1000);
        return fill(e.count, 32767);
      case EventKind::collapse_range:
      case EventKind::insert_range:
        fill(e.ino, 20);
        fill(e.logical, 1 << 20);
        return fill(e.count, 1 << 20);
      case EventKind::mark_used:
      case EventKind::mark_freed:
        fill(e.group, 64);
        fill(e.logical, 32767);
        return fill(e.count, 1000);
      default:
        return;
    }
  }

  Rng rng_;
  bool printable_;
  std::uint64_t time_ = 0;
};

}  // namespace

std::vector<Event> random_events(std::uint64_t seed, std::size_t count, bool printable) {
  Generator generator(seed, printable);
  std::vector<Event> events(count);
  for (Event& e : events) e = generator.next();
  return events;
}

}  // namespace e4r::trace::test
