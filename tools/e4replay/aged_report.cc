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

constexpr std::uint64_t kKiB = 1024;
// What devices discard at once (docs/metrics.md).
constexpr std::array<std::pair<const char*, std::uint64_t>, 3> kGranules = {
    {{"64k", 64 * kKiB}, {"1m", 1024 * kKiB}, {"16m", 16 * 1024 * kKiB}}};

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::uint64_t all_operations(const AgedReport& r) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : r.operations) sum += count;
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

// The file's extents as those of a replay.
std::vector<FileExtent> extents_of(const age::ExtentTree& file) {
  std::vector<FileExtent> out;
  for (const BlockRange& run : file.extents())
    out.push_back({out.empty() ? 0 : out.back().end(), run.first, run.count});
  return out;
}

// Those of docs/metrics.md, and what the device is told of.
json::object space_json(const stats::SettledFree& free, std::uint32_t block_size) {
  json::object out = report::free_extents_json(free.extents, block_size, free.extents.blocks);
  out["whole_mib"] = free.extents.free_chunks;
  const auto& chunks = free.space.chunks;
  for (std::size_t i = 0; i < chunks.count.size(); ++i)
    out[fmt::format("chunks_{}m", 1u << (chunks.kSizeBits[i] - 20))] = chunks.count[i];
  for (const auto& [name, bytes] : kGranules)
    out[fmt::format("in_{}_percent", name)] =
        100 * share(free.extents.blocks_in(std::max<std::uint64_t>(bytes / block_size, 1)),
                    free.extents.blocks);
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
  return {{"blocks", r.ever_used},
          {"percent", 100 * share(r.ever_used, r.superblock.blocks_count)},
          {"pieces_64k", r.ever_used_64k},
          {"pieces_64k_percent", 100 * share(r.ever_used_64k, all)}};
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
  return 1 - share(r.after.extents.blocks, r.superblock.blocks_count);
}

std::string files_text(const AgedReport& r) {
  if (r.layout.files == 0) return "none";
  return fmt::format("{}, {:.3f} extents in each, {:.1f} % in one, most {}",
                     format_count(r.layout.files), share(r.extents, r.layout.files),
                     100 * share(r.layout.by_extents[0], r.layout.files),
                     format_count(r.most_extents));
}

}  // namespace

AgedReport start_report(const std::string& target, const image::SuperblockInfo& superblock,
                        const state::Source& source) {
  AgedReport out;
  out.target = target;
  out.superblock = superblock;
  out.before = stats::source_free(source, stats::mebibyte_bits(source.geometry.block_bits));
  return out;
}

void finish_report(AgedReport& report, const age::Ager& ager) {
  report.tally = ager.tally();
  report.times = ager.times();
  report.extents_scanned = ager.counters().extents_scanned;
  report.groups_considered = ager.counters().considered();
  const std::uint32_t block_bits = ager.state().geometry().block_bits;
  report.after = stats::settled_free(ager.state(), stats::mebibyte_bits(block_bits));
  report.ever_used = ager.ever_used().blocks();
  report.ever_used_64k = ager.ever_used().pieces(order_of(64 * kKiB, block_bits));
  for (const age::ExtentTree& file : ager.files()) {
    const std::vector<FileExtent> extents = extents_of(file);
    if (extents.empty()) continue;
    stats::add_file(extents, report.layout);
    report.extents += extents.size();
    report.most_extents = std::max<std::uint64_t>(report.most_extents, extents.size());
  }
}

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
      format_count(r.superblock.groups), escaped(r.profile.name), r.seed, r.policy,
      format_count(all_operations(r)), r.elapsed_s, format_count(r.operations[0]),
      format_count(r.operations[1]), format_count(r.operations[2]), format_count(r.operations[3]),
      format_size(r.bytes_written), share(r.bytes_written, size_of(r)),
      format_count(r.tally.requests), format_count(r.tally.tree_nodes),
      format_count(r.groups_considered), format_count(r.extents_scanned), times_text(r.times),
      100 * utilisation(r), files_text(r));
  const auto row = [&](const char* name, const stats::FreeExtents& free) {
    return fmt::format("{:<12} {} free extents, {} on average, the largest {}; {} whole MiB free\n",
                       name, format_count(free.count), format_size(free.average() * block),
                       format_size(free.max * block), format_count(free.free_chunks));
  };
  return out + row("start", r.before.extents) + row("aged", r.after.extents) +
         "Inodes are the start image's: e2fsck finds blocks in use that belong to nobody.\n";
}

std::string aged_json(const AgedReport& r) {
  json::object doc;
  doc["schema"] = "e4replay-age/1";
  doc["image"] = report::image_json(r.output, r.superblock);
  doc["age"] = json::object{{"profile", r.profile.name},
                            {"profile_source", r.profile.source},
                            {"seed", r.seed},
                            {"policy", r.policy},
                            {"writes", r.operations[0]},
                            {"appends", r.operations[1]},
                            {"removals", r.operations[2]},
                            {"syncs", r.operations[3]},
                            {"bytes_written", r.bytes_written},
                            {"turnover", share(r.bytes_written, size_of(r))},
                            {"utilisation", utilisation(r)},
                            {"requests", r.tally.requests},
                            {"tree_nodes", r.tally.tree_nodes},
                            {"groups_considered", r.groups_considered},
                            {"extents_scanned", r.extents_scanned},
                            {"decisions_hash", fmt::format("{:016x}", r.tally.hash.value())},
                            {"elapsed_s", r.elapsed_s}};
  if (!r.times.empty()) doc["decision_ns"] = times_json(r.times);
  const stats::FileLayoutScore& layout = r.layout;
  const std::uint64_t distance_kb = layout.distance * r.superblock.block_size() / kKiB;
  doc["files"] =
      json::object{{"count", layout.files},
                   {"extents", r.extents},
                   {"most_extents", r.most_extents},
                   {"one_extent", layout.by_extents[0]},
                   {"blocks", layout.successors + layout.files},
                   {"seeks", layout.seeks()},
                   {"avg_seek_kb", share(distance_kb, layout.seeks())},
                   {"score_percent", 100 - 100 * share(layout.seeks(), layout.successors)}};
  doc["start"] = space_json(r.before, r.superblock.block_size());
  doc["aged"] = space_json(r.after, r.superblock.block_size());
  doc["freed"] = freed_json(r.tally.freed, order_of(r.superblock.block_size(), 0));
  doc["ever_used"] = ever_used_json(r);
  return json_text(doc);
}

}  // namespace e4r::tools
