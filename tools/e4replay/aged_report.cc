// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/aged_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/json.hpp>

#include "json/text.h"
#include "report/json_parts.h"
#include "stats/settled.h"
#include "util/escaped.h"
#include "util/text_table.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

namespace json = boost::json;

// What devices discard at once (docs/metrics.md).
constexpr std::array<std::pair<const char*, std::uint64_t>, 3> kGranules = {
    {{"64k", 64 * kKiB}, {"1m", 1024 * kKiB}, {"16m", 16 * kMiB}}};

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::uint64_t all_operations(const AgedReport& r) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : r.figures.operations) sum += count;
  return sum;
}

std::uint64_t size_of(const AgedReport& r) {
  return r.superblock.blocks_count * r.superblock.block_size();
}

// log2 of the blocks in so many bytes, a power of two; 0 where a block is larger.
std::uint32_t order_of(std::uint64_t bytes, std::uint32_t block_bits) {
  const std::uint64_t blocks = std::max<std::uint64_t>(bytes >> block_bits, 1);
  return static_cast<std::uint32_t>(std::bit_width(blocks)) - 1;
}

// Those of docs/metrics.md, and what the device is told of.
json::object space_json(const stats::SettledFree& free, const Geometry& geometry) {
  const std::uint32_t block_size = geometry.block_size();
  json::object out = report::free_extents_json(free.extents, block_size, free.extents.blocks);
  out["whole_mib"] = free.extents.free_chunks;
  const auto& chunks = free.space.chunks;
  for (std::size_t i = 0; i < chunks.count.size(); ++i)
    out[fmt::format("chunks_{}m", 1u << (chunks.kSizeBits[i] - 20))] = chunks.count[i];
  for (const auto& [name, bytes] : kGranules)
    out[fmt::format("in_{}_percent", name)] =
        100 * share(free.extents.blocks_in(std::max<std::uint64_t>(bytes / block_size, 1)),
                    free.extents.blocks);
  out["aligned"] = report::aligned_json(free.space.aligned, geometry, free.extents.blocks);
  return out;
}

json::object freed_json(const age::FreedRuns& freed, std::uint32_t block_bits) {
  json::object out = {{"runs", freed.runs}, {"blocks", freed.blocks_in(0)}};
  for (const auto& [name, bytes] : kGranules)
    out[fmt::format("in_{}_percent", name)] =
        100 * share(freed.blocks_in(order_of(bytes, block_bits)), freed.blocks_in(0));
  return out;
}

json::object ever_used_json(const AgedReport& r) {
  const std::uint64_t all = (size_of(r) + 64 * kKiB - 1) / (64 * kKiB);
  return {{"blocks", r.figures.ever_used},
          {"percent", 100 * share(r.figures.ever_used, r.superblock.blocks_count)},
          {"pieces_64k", r.figures.ever_used_64k},
          {"pieces_64k_percent", 100 * share(r.figures.ever_used_64k, all)}};
}

json::object times_json(const allocator::DecisionTimes& times) {
  return {
      {"mean", *times.mean()}, {"p50", *times.percentile(0.5)}, {"p99", *times.percentile(0.99)}};
}

// Empty when a model decided.
std::string times_text(const allocator::DecisionTimes& times) {
  if (times.empty()) return {};
  return fmt::format(
      "decisions    {} ns on average, {} in the middle, 99 % of them no more than {}\n"
      "             (the kernel's code alone: no disk, one CPU, no other writer)\n",
      format_count(*times.mean()), format_count(*times.percentile(0.5)),
      format_count(*times.percentile(0.99)));
}

double utilisation(const AgedReport& r) {
  return 1 - share(r.figures.after.extents.blocks, r.superblock.blocks_count);
}

std::string files_text(const AgedReport& r) {
  if (r.figures.layout.files == 0) return "none";
  return fmt::format("{}, {:.3f} extents in each, {:.1f} % in one, most {}",
                     format_count(r.figures.layout.files),
                     share(r.figures.files.extents, r.figures.layout.files),
                     100 * share(r.figures.layout.by_extents[0], r.figures.layout.files),
                     format_count(r.figures.files.most_extents));
}

// Free pieces at the end, by size.
std::string aligned_text(const AgedReport& r) {
  const stats::AlignedFree& aligned = r.figures.after.space.aligned;
  std::string out;
  for (std::size_t i = 0; i < aligned.pieces.size(); ++i)
    out +=
        fmt::format("{}{} of {} ({:.1f} %)", i == 0 ? "" : ", ", format_count(aligned.pieces[i]),
                    format_size(1ull << stats::AlignedFree::kSizeBits[i]),
                    100 * share(aligned.blocks(r.superblock, i), r.figures.after.extents.blocks));
  return fmt::format("aligned      free pieces: {}\n", out);
}

// Empty when no file has an extsize.
std::string extsize_text(const age::AgerTally& tally) {
  if (tally.aligned == 0) return {};
  return fmt::format("extsize      {} requests for aligned extents, {} refused; {} not written\n",
                     format_count(tally.aligned), format_count(tally.refused),
                     format_size(tally.lost_bytes));
}

}  // namespace

std::string aged_text(const AgedReport& r) {
  const std::uint64_t block = r.superblock.block_size();
  std::string out = fmt::format(
      "{}: {}, {} blocks, {} groups; profile {}, seed {}, policy {}\n"
      "operations   {} in {:.1f} s: {} writes, {} appends, {} files emptied, {} syncs\n"
      "written      {}, {:.2f} times the file system; {} requests, {} of them for tree nodes\n"
      "searches     {} groups considered, {} extents scanned\n"
      "{}"
      "utilisation  {:.1f} %\n"
      "files        {}\n",
      escaped(r.output), format_size(size_of(r)), format_size(block),
      format_count(r.superblock.groups), escaped(r.profile), r.seed, r.policy,
      format_count(all_operations(r)), r.figures.elapsed_s, format_count(r.figures.operations[0]),
      format_count(r.figures.operations[1]), format_count(r.figures.operations[2]),
      format_count(r.figures.operations[3]), format_size(r.figures.bytes_written),
      share(r.figures.bytes_written, size_of(r)), format_count(r.figures.tally.requests),
      format_count(r.figures.tally.tree_nodes), format_count(r.figures.counters.considered()),
      format_count(r.figures.counters.extents_scanned), times_text(r.figures.times),
      100 * utilisation(r), files_text(r));
  const auto row = [&](const char* name, const stats::FreeExtents& free) {
    return fmt::format("{:<12} {} free extents, {} on average, the largest {}; {} whole MiB free\n",
                       name, format_count(free.count), format_size(free.average() * block),
                       format_size(free.max * block), format_count(free.free_chunks));
  };
  return out + row("start", r.figures.before.extents) + row("aged", r.figures.after.extents) +
         aligned_text(r) + extsize_text(r.figures.tally) +
         "Inodes are the start image's: e2fsck finds blocks in use that belong to nobody.\n";
}

std::string aged_json(const AgedReport& r) {
  json::object doc;
  doc["schema"] = "e4replay-age/1";
  doc["image"] = report::image_json(r.output, r.superblock);
  doc["age"] =
      json::object{{"profile", r.profile},
                   {"profile_source", r.profile_source},
                   {"seed", r.seed},
                   {"policy", r.policy},
                   {"writes", r.figures.operations[0]},
                   {"appends", r.figures.operations[1]},
                   {"removals", r.figures.operations[2]},
                   {"syncs", r.figures.operations[3]},
                   {"bytes_written", r.figures.bytes_written},
                   {"turnover", share(r.figures.bytes_written, size_of(r))},
                   {"utilisation", utilisation(r)},
                   {"requests", r.figures.tally.requests},
                   {"tree_nodes", r.figures.tally.tree_nodes},
                   {"aligned_requests", r.figures.tally.aligned},
                   {"aligned_refused", r.figures.tally.refused},
                   {"refused_bytes", r.figures.tally.lost_bytes},
                   {"groups_considered", r.figures.counters.considered()},
                   {"extents_scanned", r.figures.counters.extents_scanned},
                   {"decisions_hash", fmt::format("{:016x}", r.figures.tally.hash.value())},
                   {"elapsed_s", r.figures.elapsed_s}};
  if (!r.figures.times.empty()) doc["decision_ns"] = times_json(r.figures.times);
  const stats::FileLayoutScore& layout = r.figures.layout;
  const std::uint64_t distance_kb = layout.distance * r.superblock.block_size() / kKiB;
  doc["files"] =
      json::object{{"count", layout.files},
                   {"extents", r.figures.files.extents},
                   {"most_extents", r.figures.files.most_extents},
                   {"one_extent", layout.by_extents[0]},
                   {"blocks", layout.successors + layout.files},
                   {"seeks", layout.seeks()},
                   {"avg_seek_kb", share(distance_kb, layout.seeks())},
                   {"score_percent", 100 - 100 * share(layout.seeks(), layout.successors)}};
  doc["start"] = space_json(r.figures.before, r.superblock);
  doc["aged"] = space_json(r.figures.after, r.superblock);
  doc["freed"] = freed_json(r.figures.tally.freed, order_of(r.superblock.block_size(), 0));
  doc["ever_used"] = ever_used_json(r);
  return json_text(doc);
}

}  // namespace e4r::tools
