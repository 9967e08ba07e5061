// SPDX-License-Identifier: GPL-2.0-or-later
#include "posted/compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <optional>
#include <utility>

#include "posted/layouts.h"
#include "state/buddy.h"
#include "stats/free_extents.h"
#include "util/units.h"

namespace e4r::posted {
namespace {

namespace bits = state::bitmap;
using state::MbGroup;
using Histogram = std::array<std::int64_t, stats::FreeExtents::kBuckets>;

// Merges the values of two sources, which must be equal if both are known (not 0).
template <class T>
Status agree(T& into, T other, const char* what, const char* whose) {
  if (other == 0) return {};
  if (into != 0 && into != other)
    return error("{} is {} in one text or option and {} {}", what, into, other, whose);
  into = other;
  return {};
}

// Returns the bucket in which e2freefrag counts a free extent of `blocks` blocks.
std::size_t bucket_of(std::uint64_t blocks) {
  return std::min<std::size_t>(std::bit_width(blocks), stats::FreeExtents::kBuckets - 1);
}

class Composer {
 public:
  Composer(const Texts& texts, const image::Image& start, std::uint64_t seed)
      : texts_(texts), start_(start), g_(start.superblock()), rng_(seed) {
    for (GroupNumber group = 0; group < g_.groups; ++group) {
      const auto words = start.bitmap(group);
      out_.bitmaps.emplace_back(words.begin(), words.end());
    }
  }

  Result<Composed> compose() {
    E4R_CHECK(check_sizes());
    if (texts_.superblock && texts_.superblock->free)
      E4R_CHECK(use_ranges(*texts_.superblock->free));
    else if (!texts_.groups.empty())
      E4R_CHECK(use_lines());
    else if (texts_.extents)
      E4R_CHECK(use_extents());
    else
      return error(
          "no text says where space is free: give mb_groups, e2freefrag, or dumpe2fs without -h");
    for (GroupNumber group = 0; group < g_.groups; ++group) out_.free += count_clear(group);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::uint64_t count_clear(GroupNumber group) const {
    std::uint64_t out = 0;
    bits::for_each_clear_run(out_.bitmaps[group], g_.clusters_in(group),
                             [&](std::uint32_t from, std::uint32_t to) { out += to - from; });
    return out;
  }

  Status check_sizes() const {
    if (texts_.extents && texts_.extents->blocks != g_.blocks_count)
      return error("e2freefrag reports {} blocks, but the file system has {}",
                   format_count(texts_.extents->blocks), format_count(g_.blocks_count));
    if (texts_.groups_count.value_or(0) > 0 && *texts_.groups_count != g_.groups)
      return error("mb_stats reports {} groups, but the file system has {}",
                   format_count(*texts_.groups_count), format_count(g_.groups));
    if (!texts_.groups.empty() && texts_.groups.back().number >= g_.groups)
      return error("mb_groups has group {}, but the file system has {} groups",
                   texts_.groups.back().number, format_count(g_.groups));
    std::uint64_t free = 0;
    for (const MbGroup& line : texts_.groups) free += line.free;
    if (texts_.extents && g_.to_blocks(free) > texts_.extents->free)
      return error("more is free in mb_groups ({} blocks) than in e2freefrag ({} blocks)",
                   format_count(g_.to_blocks(free)), format_count(texts_.extents->free));
    return {};
  }

  // Uses the free ranges that dumpe2fs prints without -h.
  Status use_ranges(const std::vector<BlockRange>& free) {
    std::vector<std::vector<std::uint64_t>> metadata(out_.bitmaps);
    for (GroupNumber group = 0; group < g_.groups; ++group)
      bits::set_range(out_.bitmaps[group], 0, g_.clusters_in(group));
    for (const BlockRange& range : free)
      for (Block block = range.first; block < range.end(); block += g_.to_blocks(1)) {
        const GroupNumber group = g_.group_of(block);
        const auto cluster =
            static_cast<std::uint32_t>(g_.to_clusters(block + 1 - g_.first_block(group)) - 1);
        if (bits::test(metadata[group], cluster))
          return error(
              "block {} is free in dumpe2fs, but metadata in a new file system: mke2fs lays out "
              "this file system differently",
              block);
        bits::clear(out_.bitmaps[group], cluster);
      }
    out_.exact.emplace_back("every free block (dumpe2fs)");
    return check_against_ranges();
  }

  // Compares the other texts with the exact ranges of dumpe2fs.
  Status check_against_ranges() {
    if (texts_.extents) {
      const Histogram off = histogram_off();
      if (std::ranges::any_of(off, [](std::int64_t n) { return n != 0; }))
        return error(
            "e2freefrag and dumpe2fs report different free extents: they are not from the same "
            "moment");
      out_.exact.emplace_back("free extents by size (e2freefrag)");
    }
    std::uint64_t less = 0;
    for (const MbGroup& line : texts_.groups) {
      const std::uint64_t free = count_clear(line.number);
      if (line.free > free)
        return error("group {} has {} free clusters in mb_groups and {} in dumpe2fs", line.number,
                     line.free, free);
      less += line.free < free ? 1 : 0;
    }
    if (less > 0)
      out_.inexact.push_back(
          fmt::format("{} groups have less free space in mb_groups than in dumpe2fs, probably "
                      "because of preallocations: the image has the free space of dumpe2fs",
                      format_count(less)));
    return {};
  }

  // Returns for each bucket of e2freefrag its number of extents minus the number of such extents in
  // the bitmaps.
  [[nodiscard]] Histogram histogram_off() const {
    Histogram out = {};
    for (const ExtentText::Bucket& bucket : texts_.extents->buckets)
      out[bucket_of(bucket.least)] += static_cast<std::int64_t>(bucket.extents);
    stats::FreeExtentScan scan({g_.first_data_block, g_.blocks_count, g_.cluster_bits}, 0);
    for (GroupNumber group = 0; group < g_.groups; ++group)
      scan.add(out_.bitmaps[group], g_.clusters_in(group));
    const stats::FreeExtents made = scan.finish();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] -= static_cast<std::int64_t>(made.buckets[i].extents);
    return out;
  }

  // Uses the lines of mb_groups.
  Status use_lines() {
    const std::uint32_t largest = g_.block_bits + 1;
    if (texts_.extents)
      for (const ExtentText::Bucket& bucket : texts_.extents->buckets)
        wanted_[bucket_of(bucket.least)] += static_cast<std::int64_t>(bucket.extents);
    std::size_t exact_first = 0;
    std::vector<bool> there(g_.groups);
    for (const MbGroup& line : texts_.groups) {
      if (const auto why = contradiction_in(line, largest); !why.empty())
        return error("mb_groups: group {} {}", line.number, why);
      const GroupFit fit = lay_out_line(line, line.number, largest);
      if (fit == GroupFit::none) return no_room(line);
      exact_first += fit == GroupFit::all ? 1 : 0;
      there[line.number] = true;
    }
    tell_of_lines(exact_first);
    return invent_groups(there, largest);
  }

  [[nodiscard]] Error no_room(const MbGroup& line) const {
    std::uint64_t usable = 0;
    bits::for_each_clear_run(start_.bitmap(line.number), g_.clusters_in(line.number),
                             [&](std::uint32_t from, std::uint32_t to) { usable += to - from; });
    return error(
        "mb_groups: no place was found for the {} free clusters in {} extents of group {}, of "
        "which "
        "a new file system leaves {} of {}: give dumpe2fs -h as well, or --inodes",
        format_count(line.free), format_count(line.fragments), line.number, format_count(usable),
        format_count(g_.clusters_in(line.number)));
  }

  // Places the line's free clusters in the group. If there is a text of e2freefrag, makes several
  // random placements and chooses the one with the fewest extents that the histogram does not
  // contain.
  GroupFit lay_out_line(const MbGroup& line, GroupNumber group, std::uint32_t largest) {
    std::vector<std::uint64_t>& words = out_.bitmaps[group];
    const std::uint32_t clusters = g_.clusters_in(group);
    if (!texts_.extents) return lay_out_group(line, largest, clusters, words, kRandomEnds, rng_);
    constexpr unsigned kTries = 16;
    GroupFit best = GroupFit::none;
    std::int64_t best_off = 0;
    std::vector<std::uint64_t> best_words;
    Histogram best_made = {};
    for (unsigned i = 0; i < kTries; ++i) {
      std::vector<std::uint64_t> made(words);
      const GroupFit fit =
          lay_out_group(line, largest, clusters, made, 20 + i * 60 / (kTries - 1), rng_);
      if (fit == GroupFit::none) break;
      Histogram has = {};
      bits::for_each_clear_run(made, clusters, [&](std::uint32_t from, std::uint32_t to) {
        ++has[bucket_of(g_.to_blocks(to - from))];
      });
      std::int64_t off = 0;
      for (std::size_t k = 0; k < has.size(); ++k)
        off += std::max<std::int64_t>(has[k] - wanted_[k], 0);
      if (best != GroupFit::none && off >= best_off) continue;
      best = fit;
      best_off = off;
      best_words = std::move(made);
      best_made = has;
    }
    if (best == GroupFit::none) return best;
    words = std::move(best_words);
    for (std::size_t k = 0; k < wanted_.size(); ++k) wanted_[k] -= best_made[k];
    return best;
  }

  void tell_of_lines(std::size_t exact_first) {
    const std::size_t lines = texts_.groups.size();
    out_.exact.push_back(
        fmt::format("free clusters, free extents and chunks of each order of {} groups (mb_groups)",
                    format_count(lines)));
    if (exact_first < lines)
      out_.inexact.push_back(
          fmt::format("the first free cluster of {} of {} groups is a later one than in mb_groups",
                      format_count(lines - exact_first), format_count(lines)));
    out_.chosen.emplace_back("where in its group each free extent lies");
  }

  // Gives each group that mb_groups lacks the line of another group, chosen at random.
  Status invent_groups(const std::vector<bool>& there, std::uint32_t largest) {
    std::uint64_t invented = 0, left = 0;
    for (GroupNumber group = 0; group < g_.groups; ++group) {
      if (there[group]) continue;
      constexpr int kTries = 20;
      bool done = false;
      for (int i = 0; i < kTries && !done; ++i) {
        MbGroup line = texts_.groups[rng_.below(texts_.groups.size())];
        line.first_free = 0;
        done = lay_out_line(line, group, largest) != GroupFit::none;
      }
      ++(done ? invented : left);
    }
    if (invented + left > 0)
      out_.chosen.push_back(
          fmt::format("the free space of {} groups that mb_groups lacks: like that of random "
                      "groups that it has",
                      format_count(invented + left)));
    if (left > 0)
      out_.chosen.push_back(
          fmt::format("{} of these groups have no free space: no line fitted", format_count(left)));
    if (!texts_.extents) return {};
    std::uint64_t off = 0;
    for (const std::int64_t n : histogram_off()) off += static_cast<std::uint64_t>(std::abs(n));
    if (off == 0)
      out_.exact.emplace_back("free extents by size (e2freefrag)");
    else
      out_.inexact.push_back(
          fmt::format("{} of {} free extents have another size than in e2freefrag",
                      format_count((off + 1) / 2), format_count(texts_.extents->count)));
    return {};
  }

  // Uses e2freefrag alone.
  Status use_extents() {
    std::vector<ClusterRun> usable;
    std::uint64_t at = 0;
    for (GroupNumber group = 0; group < g_.groups; ++group) {
      const std::uint32_t clusters = g_.clusters_in(group);
      bits::for_each_clear_run(out_.bitmaps[group], clusters,
                               [&](std::uint32_t from, std::uint32_t to) {
                                 if (!usable.empty() && usable.back().end() == at + from)
                                   usable.back().length += to - from;
                                 else
                                   usable.push_back({at + from, std::uint64_t(to) - from});
                               });
      bits::set_range(out_.bitmaps[group], 0, clusters);
      at += clusters;
    }
    const ExtentText& text = *texts_.extents;
    E4R_TRY(const ExtentLayout made, lay_out_extents(text, g_, usable, rng_));
    const std::uint64_t per_group = g_.clusters_per_group;
    for (ClusterRun run : made.free)
      while (run.length > 0) {
        const std::uint64_t from = run.first % per_group;
        const std::uint64_t length = std::min(run.length, per_group - from);
        bits::clear_range(out_.bitmaps[run.first / per_group], static_cast<std::uint32_t>(from),
                          static_cast<std::uint32_t>(length));
        run = {run.first + length, run.length - length};
      }
    out_.exact.emplace_back("free blocks and free extents by size (e2freefrag)");
    if (text.chunk_bytes > 0 && made.free_chunks == text.free_chunks)
      out_.exact.emplace_back("free chunks (e2freefrag)");
    else if (text.chunk_bytes > 0)
      out_.inexact.push_back(fmt::format("{} chunks are free, but {} in e2freefrag",
                                         format_count(made.free_chunks),
                                         format_count(text.free_chunks)));
    out_.chosen.emplace_back(
        "where each free extent lies, in which group, and its length in blocks");
    return {};
  }

  const Texts& texts_;
  const image::Image& start_;
  const image::SuperblockInfo& g_;
  Rng rng_;
  Histogram wanted_ = {};  // extents that the histogram of e2freefrag still lacks
  Composed out_;
};

}  // namespace

Result<Wanted> wanted_start(const Texts& texts, const StartOptions& options) {
  Wanted out;
  std::uint64_t blocks = 0;
  out.block_size = options.block_size;
  out.bytes = options.bytes;
  if (const auto& s = texts.superblock) {
    E4R_CHECK(agree(out.block_size, s->block_size, "the block size", "in dumpe2fs"));
    E4R_CHECK(agree(blocks, s->blocks, "the number of blocks", "in dumpe2fs"));
    out.arguments = mke2fs_arguments(*s);
    out.extended = mke2fs_extended(*s);
  }
  if (const auto& e = texts.extents) {
    E4R_CHECK(agree(out.block_size, e->block_size, "the block size", "in e2freefrag"));
    E4R_CHECK(agree(blocks, e->blocks, "the number of blocks", "in e2freefrag"));
  }
  if (blocks != 0)
    E4R_CHECK(agree(out.bytes, blocks * out.block_size, "the size in bytes", "in the texts"));
  if (out.bytes == 0) {
    std::uint64_t groups = texts.groups_count.value_or(0);
    if (groups == 0 && !texts.groups.empty())
      groups = std::uint64_t(texts.groups.back().number) + 1;
    if (groups == 0) return error("no text says how large the file system is: give --size");
    if (out.block_size == 0) out.block_size = 4096;
    out.bytes = groups * 8 * out.block_size * out.block_size;
    out.chosen.push_back(fmt::format("the size: {} whole groups with blocks of {} bytes",
                                     format_count(groups), out.block_size));
  }
  if (!texts.superblock) {
    if (out.block_size != 0) out.arguments = {"-b", std::to_string(out.block_size)};
    if (options.inodes != 0) {
      out.arguments.emplace_back("-N");
      out.arguments.push_back(std::to_string(options.inodes));
    }
    out.chosen.emplace_back("inodes, journal and features: as mke2fs chooses them");
  }
  return out;
}

Result<Composed> compose(const Texts& texts, const image::Image& start, std::uint64_t seed) {
  return Composer(texts, start, seed).compose();
}

}  // namespace e4r::posted
