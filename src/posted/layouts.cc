// SPDX-License-Identifier: GPL-2.0-or-later
#include "posted/layouts.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "state/buddy.h"
#include "util/units.h"

namespace e4r::posted {
namespace {

template <class T>
void shuffle(std::vector<T>& values, Rng& rng) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.below(i)]);
}

// Appends to `out` `count` random lengths from `least` to `most` that add up to `sum`.
bool add_lengths(std::uint64_t count, std::uint64_t sum, std::uint64_t least, std::uint64_t most,
                 Rng& rng, std::vector<std::uint64_t>& out) {
  if (count == 0) return sum == 0;
  if (least > most || sum < count * least || (sum - 1) / most >= count) return false;
  std::uint64_t rest = sum - count * least;
  const std::uint64_t width = most - least;
  for (std::uint64_t left = count; left > 0; --left) {
    // The remaining lengths must be able to add up to the rest of the sum. The range is symmetric
    // around the mean.
    const std::uint64_t others = (left - 1) * width;
    const std::uint64_t low = rest > others ? rest - others : 0;
    const std::uint64_t high = std::min(rest, width);
    const std::uint64_t mean = rest / left;
    const std::uint64_t reach = std::min(mean - std::min(mean, low), high - std::min(mean, high));
    const std::uint64_t more =
        left == 1 ? rest : rng.between(mean - reach, std::min(high, mean + reach));
    out.push_back(least + more);
    rest -= more;
  }
  return true;
}

// Chooses the lengths of all extents, in clusters.
Result<std::vector<std::uint64_t>> choose_lengths(const ExtentText& text, const Geometry& geometry,
                                                  Rng& rng) {
  const std::uint64_t ratio = geometry.to_blocks(1);
  const std::uint64_t kib = geometry.block_size() / 1024;
  const std::uint64_t shortest = text.min_kib / kib / ratio;
  const std::uint64_t longest = text.max_kib / kib / ratio;
  std::vector<std::uint64_t> out;
  std::optional<std::size_t> first, last;
  for (std::size_t i = 0; i < text.buckets.size(); ++i) {
    if (text.buckets[i].extents == 0) continue;
    if (!first) first = i;
    last = i;
  }
  for (std::size_t i = 0; i < text.buckets.size(); ++i) {
    const ExtentText::Bucket& bucket = text.buckets[i];
    std::uint64_t count = bucket.extents, sum = bucket.blocks / ratio;
    if (bucket.blocks % ratio != 0)
      return error("{} free blocks are not a whole number of clusters of {} blocks",
                   format_count(bucket.blocks), ratio);
    const std::uint64_t least = std::max((bucket.least + ratio - 1) / ratio, shortest);
    const std::uint64_t most = std::min(bucket.most / ratio, longest);
    const auto pin = [&](std::uint64_t length) {
      if (count == 0 || length > sum) return;
      out.push_back(length);
      --count;
      sum -= length;
    };
    if (i == first) pin(shortest);
    if (i == last && (first != last || longest != shortest || count > 0)) pin(longest);
    if (!add_lengths(count, sum, least, most, rng, out))
      return error(
          "no {} extents of {} to {} clusters have {} clusters with the shortest of {} and "
          "the longest of {}",
          bucket.extents, least, most, bucket.blocks / ratio, shortest, longest);
  }
  return out;
}

// Assigns extents to the parts of the usable space.
class Sharing {
 public:
  Sharing(const std::vector<ClusterRun>& usable, Rng& rng) : usable_(usable), rng_(rng) {
    std::uint64_t sum = 0;
    for (const ClusterRun& part : usable) {
      ends_.push_back(sum += part.length);
      room_.push_back(part.length + 1);  // each extent needs a used cluster after it
    }
    lengths_.resize(usable.size());
  }

  // Assigns an extent to a part. Must be called with the longest extents first. With `tight`, the
  // extent goes to the part that it fills best, otherwise to a random one.
  bool put(std::uint64_t length, bool tight) {
    std::optional<std::size_t> part = tight ? best(length) : random(length);
    if (!part) part = best(length);
    if (!part) return false;
    room_[*part] -= length + 1;
    lengths_[*part].push_back(length);
    return true;
  }

  // Returns the extents, in random order and at random distances within each part.
  std::vector<ClusterRun> spread() {
    std::vector<ClusterRun> out;
    for (std::size_t i = 0; i < usable_.size(); ++i) {
      std::vector<std::uint64_t>& lengths = lengths_[i];
      shuffle(lengths, rng_);
      // Distributes the remaining room at random before, between and after the extents.
      std::vector<std::uint64_t> cuts(lengths.size());
      for (std::uint64_t& cut : cuts) cut = rng_.below(room_[i] + 1);
      std::ranges::sort(cuts);
      std::uint64_t at = usable_[i].first, skipped = 0;
      for (std::size_t k = 0; k < lengths.size(); ++k) {
        at += cuts[k] - skipped;
        skipped = cuts[k];
        out.push_back({at, lengths[k]});
        at += lengths[k] + 1;
      }
    }
    return out;
  }

 private:
  std::optional<std::size_t> random(std::uint64_t length) {
    constexpr int kTries = 16;
    for (int i = 0; i < kTries; ++i) {
      const auto found = std::ranges::upper_bound(ends_, rng_.below(ends_.back()));
      const auto part = static_cast<std::size_t>(found - ends_.begin());
      if (room_[part] > length && rng_.below(usable_[part].length + 1) < room_[part]) return part;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> best(std::uint64_t length) const {
    std::optional<std::size_t> out;
    for (std::size_t i = 0; i < room_.size(); ++i)
      if (room_[i] > length && (!out || room_[i] < room_[*out])) out = i;
    return out;
  }

  const std::vector<ClusterRun>& usable_;
  Rng& rng_;
  std::vector<std::uint64_t> ends_, room_;
  std::vector<std::vector<std::uint64_t>> lengths_;
};

// Moves extents between their neighbours until the number of free chunks is the wanted one.
class ChunkMover {
 public:
  ChunkMover(std::vector<ClusterRun>& free, const Geometry& geometry, std::uint64_t chunk_blocks)
      : free_(free), geometry_(geometry), chunk_(chunk_blocks) {
    for (const ClusterRun& run : free_) now_ += chunks_in(run);
  }

  [[nodiscard]] std::uint64_t now() const { return now_; }

  void move_to(std::uint64_t wanted, const std::vector<ClusterRun>& usable, Rng& rng) {
    std::vector<std::size_t> order(free_.size());
    std::iota(order.begin(), order.end(), 0);
    constexpr int kPasses = 20;
    for (int pass = 0; pass < kPasses && now_ != wanted; ++pass) {
      shuffle(order, rng);
      for (const std::size_t i : order) {
        if (now_ == wanted) return;
        move_one(i, wanted, usable, rng);
      }
    }
  }

 private:
  // The number of whole aligned chunks in the run. Chunks are aligned to block 0 of the device.
  [[nodiscard]] std::uint64_t chunks_in(const ClusterRun& run) const {
    const std::uint64_t first = geometry_.first_data_block + geometry_.to_blocks(run.first);
    const std::uint64_t last = geometry_.first_data_block + geometry_.to_blocks(run.end());
    const std::uint64_t from = (first + chunk_ - 1) / chunk_, to = last / chunk_;
    return to > from ? to - from : 0;
  }

  void move_one(std::size_t i, std::uint64_t wanted, const std::vector<ClusterRun>& usable,
                Rng& rng) {
    ClusterRun& run = free_[i];
    if (geometry_.to_blocks(run.length) < chunk_) return;
    const auto part = std::ranges::upper_bound(usable, run.first, {}, &ClusterRun::first) - 1;
    std::uint64_t low = part->first, high = part->end() - run.length;
    if (i > 0) low = std::max(low, free_[i - 1].end() + 1);
    if (i + 1 < free_.size() && free_[i + 1].first < part->end())
      high = std::min(high, free_[i + 1].first - 1 - run.length);
    const std::uint64_t before = chunks_in(run);
    // Positions that differ by a whole chunk give the same count.
    const std::uint64_t places = std::min(high - low + 1, geometry_.to_clusters(chunk_));
    const std::uint64_t from = low + rng.below(high - low + 2 - places);
    const std::uint64_t begin = rng.below(places);
    for (std::uint64_t k = 0; k < places; ++k) {
      const ClusterRun there = {from + (begin + k) % places, run.length};
      const std::uint64_t count = chunks_in(there);
      if (now_ < wanted ? count <= before : count >= before) continue;
      now_ = now_ - before + count;
      run = there;
      return;
    }
  }

  std::vector<ClusterRun>& free_;
  const Geometry& geometry_;
  std::uint64_t chunk_;
  std::uint64_t now_ = 0;
};

}  // namespace

Result<ExtentLayout> lay_out_extents(const ExtentText& text, const Geometry& geometry,
                                     const std::vector<ClusterRun>& usable, Rng& rng) {
  E4R_TRY(std::vector<std::uint64_t> lengths, choose_lengths(text, geometry, rng));
  std::ranges::sort(lengths, std::greater<>());
  ExtentLayout out;
  if (lengths.empty()) return out;
  const std::uint64_t chunk_blocks = text.chunk_bytes / geometry.block_size();
  for (const bool tight : {false, true}) {
    Sharing sharing(usable, rng);
    if (usable.empty() || !std::ranges::all_of(lengths, [&](std::uint64_t length) {
          return sharing.put(length, tight);
        }))
      continue;
    out.free = sharing.spread();
    if (chunk_blocks == 0) return out;
    ChunkMover mover(out.free, geometry, chunk_blocks);
    mover.move_to(text.free_chunks, usable, rng);
    out.free_chunks = mover.now();
    return out;
  }
  return error(
      "there is no room for {} free extents of up to {} clusters between the metadata of a new "
      "file system",
      format_count(lengths.size()), format_count(lengths.front()));
}

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
