// SPDX-License-Identifier: GPL-2.0-or-later
#include "posted/extent_layout.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

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

}  // namespace e4r::posted
