// SPDX-License-Identifier: GPL-2.0-or-later
#include "posted/group_layout.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "state/buddy.h"

namespace e4r::posted {
namespace {

namespace bits = state::bitmap;
using state::MbGroup;

// Places chunks from the largest order down. A chunk lies at a multiple of its size. Two chunks
// that are halves of the same larger chunk would merge into it, so they are never both free. A
// chunk that touches another one is part of the same extent. With C chunks, E extents need C - E
// such touches.
class GroupPlacer {
 public:
  GroupPlacer(const MbGroup& line, std::uint32_t largest, std::uint32_t clusters,
              std::span<const std::uint64_t> metadata, bool exact_first, unsigned ends, Rng& rng)
      : line_(line),
        largest_(largest),
        clusters_(clusters),
        barred_(metadata.begin(), metadata.end()),
        free_(metadata.size(), 0),
        ends_(ends),
        rng_(rng) {
    bits::set_range(barred_, 0, std::min(line.first_free, clusters));
    for (const std::uint32_t count : line.counters) chunks_ += count;
    touches_ = chunks_ - line.fragments;
    if (exact_first) first_order_ = order_at_first();
    needs_first_ = exact_first;
  }

  // Returns whether all chunks were placed.
  bool place() {
    if (needs_first_ && !first_order_) return false;
    if (first_order_ && !take(line_.first_free, *first_order_)) return false;
    for (std::uint32_t order = MbGroup::kOrders; order-- > 0;) {
      std::uint32_t count = line_.counters[order] - (first_order_ == order ? 1 : 0);
      const std::uint32_t extents = line_.fragments - (chunks_ - touches_);
      const std::uint32_t at_ends = extents * 2 * ends_ / 100;
      std::uint32_t beginning = count - std::min(count, at_ends);
      for (; count > 0; --count) {
        const std::uint32_t touches = touches_;
        if (!place_one(order, count, beginning)) return false;
        if (touches_ == touches && beginning > 0) --beginning;
      }
    }
    return touches_ == 0;
  }

  // Writes the bitmap: a set bit is a cluster in use.
  void write(std::span<std::uint64_t> words) const {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = ~free_[i];
  }

 private:
  [[nodiscard]] bool is_free(std::uint32_t at) const {
    return at < clusters_ && bits::test(free_, at);
  }

  // Whether the chunk is inside the group, no part of it is taken or barred, and it does not merge
  // with its other half.
  [[nodiscard]] bool fits(std::uint32_t at, std::uint32_t order) const {
    const std::uint32_t length = 1u << order;
    if (at % length != 0 || at + length > clusters_ || at < line_.first_free) return false;
    if (!bits::all_clear(barred_, at, length) || !bits::all_clear(free_, at, length)) return false;
    if (order == largest_) return true;
    const std::uint32_t half = at ^ length;
    return half + length > clusters_ || !bits::all_set(free_, half, length);
  }

  // Returns how many free chunks the chunk would touch.
  [[nodiscard]] std::uint32_t touches_at(std::uint32_t at, std::uint32_t order) const {
    return (at > 0 && is_free(at - 1) ? 1 : 0) + (is_free(at + (1u << order)) ? 1 : 0);
  }

  bool take(std::uint32_t at, std::uint32_t order) {
    const std::uint32_t touched = touches_at(at, order);
    if (touched > touches_) return false;
    touches_ -= touched;
    --chunks_;
    bits::set_range(free_, at, 1u << order);
    return true;
  }

  // Returns the order of a chunk that can begin at the first free cluster, chosen at random if
  // several can.
  std::optional<std::uint32_t> order_at_first() {
    std::vector<std::uint32_t> orders;
    for (std::uint32_t order = 0; order < MbGroup::kOrders; ++order)
      if (line_.counters[order] > 0 && fits(line_.first_free, order)) orders.push_back(order);
    if (orders.empty()) return std::nullopt;
    return orders[rng_.below(orders.size())];
  }

  [[nodiscard]] bool suits(std::uint32_t at, std::uint32_t order, std::uint32_t touched) const {
    return fits(at, order) && touches_at(at, order) == touched;
  }

  // Places one chunk of the order. `left` chunks of the order remain, and `beginning` of them
  // should begin extents.
  bool place_one(std::uint32_t order, std::uint32_t left, std::uint32_t beginning) {
    const bool begins = touches_ == 0 || (touches_ < chunks_ && rng_.below(left) < beginning);
    const bool bridging = touches_ > chunks_;  // some chunk must join two extents
    if (bridging) return place_somewhere(order, 2) || place_somewhere(order, 1);
    if (place_somewhere(order, begins ? 0 : 1)) return true;
    // No place of the wanted kind is left. Takes one of the other kind; later chunks then correct
    // the number of touches.
    if (!begins) return place_somewhere(order, 0);
    return touches_ > 0 && place_somewhere(order, 1);
  }

  // Takes a random place at which the chunk touches `touched` free chunks.
  bool place_somewhere(std::uint32_t order, std::uint32_t touched) {
    return touched == 0 ? place_apart(order) : place_at_an_end(order, touched);
  }

  // Tries random places first, then all places, beginning at a random one.
  bool place_apart(std::uint32_t order) {
    const std::uint32_t places = clusters_ >> order;
    if (places == 0) return false;
    constexpr std::uint32_t kTries = 24;
    for (std::uint32_t i = 0; i < std::min(places, kTries); ++i) {
      const std::uint32_t at = static_cast<std::uint32_t>(rng_.below(places)) << order;
      if (suits(at, order, 0)) return take(at, order);
    }
    const auto begin = static_cast<std::uint32_t>(rng_.below(places));
    for (std::uint32_t i = 0; i < places; ++i) {
      const std::uint32_t at = (begin + i) % places << order;
      if (suits(at, order, 0)) return take(at, order);
    }
    return false;
  }

  // Takes a place right before or after an extent, beginning with the extents after a random place.
  bool place_at_an_end(std::uint32_t order, std::uint32_t touched) {
    const auto begin = static_cast<std::uint32_t>(rng_.below(clusters_));
    return place_at_an_end_in(begin, clusters_, order, touched) ||
           place_at_an_end_in(0, begin, order, touched);
  }

  bool place_at_an_end_in(std::uint32_t from, std::uint32_t limit, std::uint32_t order,
                          std::uint32_t touched) {
    const std::uint32_t length = 1u << order;
    for (std::uint32_t start = bits::find_set(free_, limit, from); start < limit;) {
      const std::uint32_t end = bits::find_clear(free_, clusters_, start);
      std::array<std::optional<std::uint32_t>, 2> places = {end, std::nullopt};
      if (start >= length) places[1] = start - length;
      if (rng_.chance(1, 2)) std::swap(places[0], places[1]);
      for (const auto& at : places)
        if (at && suits(*at, order, touched)) return take(*at, order);
      start = bits::find_set(free_, limit, end);
    }
    return false;
  }

  const MbGroup& line_;
  std::uint32_t largest_, clusters_;
  std::vector<std::uint64_t> barred_;  // clusters that must not become free
  std::vector<std::uint64_t> free_;
  unsigned ends_;
  Rng& rng_;
  std::uint32_t chunks_ = 0;  // still to place
  std::uint32_t touches_ = 0;
  bool needs_first_ = false;
  std::optional<std::uint32_t> first_order_;
};

// Returns the line that a kernel would print for the group, except for the group's number.
MbGroup line_of(std::span<const std::uint64_t> words, std::uint32_t clusters,
                std::uint32_t largest) {
  MbGroup out;
  out.first_free = bits::find_clear(words, clusters, 0);
  state::OrderCounters chunks = {};
  bits::for_each_clear_run(words, clusters, [&](std::uint32_t from, std::uint32_t to) {
    out.free += to - from;
    ++out.fragments;
    state::count_chunks(chunks, largest + 1, from, to - from, 1);
  });
  std::copy_n(chunks.begin(), out.counters.size(), out.counters.begin());
  return out;
}

bool same_counters(const MbGroup& a, const MbGroup& b) {
  return a.free == b.free && a.fragments == b.fragments && a.counters == b.counters;
}

}  // namespace

std::string_view contradiction_in(const MbGroup& line, std::uint32_t largest) {
  std::uint64_t free = 0, chunks = 0;
  for (std::uint32_t order = 0; order < line.counters.size(); ++order) {
    free += std::uint64_t(line.counters[order]) << order;
    chunks += line.counters[order];
    if (order > largest && line.counters[order] > 0) return "has chunks that are too large";
  }
  if (free != line.free) return "has chunks that do not add up to its free clusters";
  if (line.fragments > chunks) return "has more free extents than chunks";
  if ((line.fragments == 0) != (line.free == 0)) return "has free clusters without an extent";
  return {};
}

GroupFit lay_out_group(const MbGroup& line, std::uint32_t largest, std::uint32_t clusters,
                       std::span<std::uint64_t> words, unsigned ends, Rng& rng) {
  // A group in which nothing was ever allocated is usually still as mke2fs made it.
  const MbGroup untouched = line_of(words, clusters, largest);
  if (same_counters(untouched, line))
    return untouched.first_free == line.first_free ? GroupFit::all : GroupFit::counters;
  if (line.free == 0) {
    bits::set_range(words, 0, clusters);
    return GroupFit::all;
  }
  constexpr int kTries = 400, kFirstTries = 10;
  std::vector<std::uint64_t> made(words.size());
  for (int i = 0; i < kTries; ++i) {
    const bool exact_first = i < kFirstTries;
    // Chunks that do not fit with one share of random ends may fit with another share.
    const unsigned how = i < 2 * kFirstTries ? ends : 30 + static_cast<unsigned>(rng.below(40));
    GroupPlacer placer(line, largest, clusters, words, exact_first, how, rng);
    if (!placer.place()) continue;
    placer.write(made);
    const MbGroup has = line_of(made, clusters, largest);
    if (!same_counters(has, line)) continue;
    std::ranges::copy(made, words.begin());
    return has.first_free == line.first_free ? GroupFit::all : GroupFit::counters;
  }
  return GroupFit::none;
}

}  // namespace e4r::posted
