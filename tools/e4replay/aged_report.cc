// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/aged_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "report/json_parts.h"
#include "report/json_text.h"
#include "stats/settled.h"
#include "util/text_table.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::uint64_t all_operations(const AgedReport& r) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : r.operations) sum += count;
  return sum;
}

std::uint64_t size_of(const AgedReport& r) {
  return r.geometry.blocks_count * r.geometry.block_size;
}

double utilisation(const AgedReport& r) {
  return 1 - share(r.after.blocks, r.geometry.blocks_count);
}

}  // namespace

AgedReport start_report(const std::string& target, const image::Geometry& geometry,
                        const state::Source& source) {
  AgedReport out;
  out.target = target;
  out.geometry = geometry;
  out.before = stats::source_free(source, stats::mebibyte_bits(source.geometry.block_bits)).extents;
  return out;
}

void finish_report(AgedReport& report, const age::Ager& ager) {
  report.tally = ager.tally();
  report.extents_scanned = ager.counters().extents_scanned;
  for (const auto& criterion : ager.counters().by_criterion)
    report.groups_considered += criterion.groups_considered;
  report.after =
      stats::settled_free(ager.state(), stats::mebibyte_bits(ager.state().geometry().block_bits))
          .extents;
  for (const age::ExtentTree& file : ager.files()) {
    const std::uint64_t extents = file.extents().size();
    report.files += extents > 0;
    report.one_extent += extents == 1;
    report.extents += extents;
    report.most_extents = std::max(report.most_extents, extents);
  }
}

std::string aged_text(const AgedReport& r) {
  const std::uint64_t block = r.geometry.block_size;
  std::string out = fmt::format(
      "{}: {}, {} blocks, {} groups; profile {}, seed {}, policy {}\n"
      "operations   {} in {:.1f} s: {} writes, {} appends, {} files emptied, {} syncs\n"
      "written      {}, {:.2f} times the file system; {} requests, {} of them for tree nodes\n"
      "searches     {} groups considered, {} extents scanned\n"
      "utilisation  {:.1f} %\n"
      "files        {}, {:.3f} extents in each, {:.1f} % in one, most {}\n",
      r.output, format_size(size_of(r)), format_size(block), format_count(r.geometry.groups_count),
      r.profile.name, r.seed, r.policy, format_count(all_operations(r)), r.elapsed_s,
      format_count(r.operations[0]), format_count(r.operations[1]), format_count(r.operations[2]),
      format_count(r.operations[3]), format_size(r.bytes_written),
      share(r.bytes_written, size_of(r)), format_count(r.tally.requests),
      format_count(r.tally.tree_nodes), format_count(r.groups_considered),
      format_count(r.extents_scanned), 100 * utilisation(r), format_count(r.files),
      share(r.extents, r.files), 100 * share(r.one_extent, r.files), format_count(r.most_extents));
  const auto row = [&](const char* name, const stats::FreeExtents& free) {
    return fmt::format("{:<12} {} free extents, {} on average, the largest {}; {} whole MiB free\n",
                       name, format_count(free.count), format_size(free.average() * block),
                       format_size(free.max * block), format_count(free.free_chunks));
  };
  return out + row("start", r.before) + row("aged", r.after) +
         "Inodes are the start image's: e2fsck finds blocks in use that belong to nobody.\n";
}

std::string aged_json(const AgedReport& r) {
  namespace json = boost::json;
  json::object doc;
  doc["schema"] = "e4replay/1";
  doc["image"] = report::image_json(r.output, r.geometry);
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
                            {"elapsed_s", r.elapsed_s}};
  doc["files"] = json::object{{"count", r.files},
                              {"extents", r.extents},
                              {"most_extents", r.most_extents},
                              {"one_extent", r.one_extent}};
  const auto put = [&](const char* name, const stats::FreeExtents& free) {
    auto extents = report::free_extents_json(free, r.geometry.block_size, free.blocks);
    extents["whole_mib"] = free.free_chunks;
    doc[name] = std::move(extents);
  };
  put("start", r.before);
  put("aged", r.after);
  return report::json_text(doc);
}

}  // namespace e4r::tools
