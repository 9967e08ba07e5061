// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/rows.h"

#include <algorithm>
#include <array>
#include <vector>

#include "util/units.h"

namespace e4r::report {
namespace {

using Run = const RunReport&;
using Report = const ReplayReport&;
using Arg = const std::string&;

Value mb_stat(Run run, Report, Arg name) {
  const auto found = std::find_if(run.mb_stats.begin(), run.mb_stats.end(),
                                  [&](const stats::MbStat& stat) { return stat.name == name; });
  if (found == run.mb_stats.end()) return {};
  return found->value;
}

std::uint64_t kb(Report report, std::uint64_t blocks) {
  return blocks * (report.geometry.block_size / 1024);
}

Value considered(Run run, Report, Arg) {
  std::uint64_t total = 0;
  for (const auto& of : run.counters.by_criterion) total += of.groups_considered;
  return total;
}

std::vector<Row> tally_rows() {
  return {
      {"",
       "requests",
       "requests",
       true,
       [](Run r, Report, Arg) -> Value { return r.tally.requests; },
       nullptr,
       {}},
      {"",
       "blocks allocated",
       "allocated_blocks",
       true,
       [](Run r, Report, Arg) -> Value { return r.tally.allocated_blocks; },
       nullptr,
       {}},
      {"",
       "failed, no space",
       "failed",
       true,
       [](Run r, Report, Arg) -> Value { return r.tally.failed; },
       nullptr,
       {}},
      {"",
       "metadata requests",
       "metadata_requests",
       false,
       [](Run r, Report, Arg) -> Value { return r.tally.metadata; },
       nullptr,
       {}},
      {"",
       "requests more than recorded",
       "extra_requests",
       false,
       [](Run r, Report, Arg) -> Value { return r.tally.extra; },
       nullptr,
       {}},
      {"",
       "recorded requests not needed",
       "absorbed_requests",
       false,
       [](Run r, Report, Arg) -> Value { return r.tally.absorbed; },
       nullptr,
       {}},
      {"",
       "refused before the allocator",
       "refused_requests",
       false,
       [](Run r, Report, Arg) -> Value { return r.tally.refused; },
       nullptr,
       {}},
      {"",
       "clusters freed",
       "freed_clusters",
       false,
       [](Run r, Report, Arg) -> Value { return r.tally.freed_clusters; },
       nullptr,
       {}},
      {"",
       "frees of what is not in use",
       "bad_frees",
       false,
       [](Run r, Report, Arg) -> Value { return r.tally.bad_frees; },
       nullptr,
       {}},
      {"",
       "requests outside the image",
       "bad_requests",
       false,
       [](Run r, Report, Arg) -> Value { return r.tally.bad_requests; },
       nullptr,
       {}},
  };
}

struct Rung {
  std::string_view section;
  std::string_view name;
};
constexpr std::array kRungs = {Rung{"cr0_stats", "CR0"},     Rung{"cr1_stats", "CR1"},
                               Rung{"cr1.5_stats", "CR1.5"}, Rung{"best_avail_stats", "best avail"},
                               Rung{"cr2_stats", "CR2"},     Rung{"cr3_stats", "CR3"}};

// One row per rung of a counter that each rung has.
void add_per_rung(std::vector<Row>& out, const std::string& title, const std::string& counter,
                  bool always) {
  for (const auto& [section, name] : kRungs) {
    const std::string key = fmt::format("{}/{}", section, counter);
    out.push_back(
        {title, "  " + std::string(name), "mb_stats/" + key, always, mb_stat, nullptr, key});
  }
}

Row stat_row(const std::string& section, const std::string& label, const std::string& name,
             bool always) {
  return {section, label, "mb_stats/" + name, always, mb_stat, nullptr, name};
}

void add_free_extents(std::vector<Row>& out) {
  const std::string title = "free extents at the end";
  out.push_back({title,
                 "  count",
                 "free_extents/count",
                 true,
                 [](Run r, Report, Arg) -> Value { return r.free_extents.count; },
                 [](Report p) -> Value { return p.before.count; },
                 {}});
  out.push_back({title,
                 "  smallest, KB",
                 "free_extents/min_kb",
                 true,
                 [](Run r, Report p, Arg) -> Value { return kb(p, r.free_extents.min); },
                 [](Report p) -> Value { return kb(p, p.before.min); },
                 {}});
  out.push_back({title,
                 "  largest, KB",
                 "free_extents/max_kb",
                 true,
                 [](Run r, Report p, Arg) -> Value { return kb(p, r.free_extents.max); },
                 [](Report p) -> Value { return kb(p, p.before.max); },
                 {}});
  out.push_back({title,
                 "  average, KB",
                 "free_extents/avg_kb",
                 true,
                 [](Run r, Report p, Arg) -> Value { return kb(p, r.free_extents.average()); },
                 [](Report p) -> Value { return kb(p, p.before.average()); },
                 {}});
}

void add_files(std::vector<Row>& out) {
  const std::string title = "files written";
  out.push_back({title,
                 "  count",
                 "files/count",
                 true,
                 [](Run r, Report, Arg) -> Value { return r.files.files; },
                 nullptr,
                 {}});
  out.push_back({title,
                 "  extents",
                 "files/extents",
                 true,
                 [](Run r, Report, Arg) -> Value { return r.files.extents; },
                 nullptr,
                 {}});
  out.push_back({title,
                 "  extents per file",
                 "files/avg_extents",
                 true,
                 [](Run r, Report, Arg) -> Value { return r.files.extents_per_file(); },
                 nullptr,
                 {}});
  out.push_back({title,
                 "  most extents in one",
                 "files/max_extents",
                 true,
                 [](Run r, Report, Arg) -> Value { return r.files.most_extents; },
                 nullptr,
                 {}});
  out.push_back({title,
                 "  in one extent",
                 "files/single_extent",
                 true,
                 [](Run r, Report, Arg) -> Value { return r.files.one_extent; },
                 nullptr,
                 {}});
}

std::vector<Row> make_rows() {
  std::vector<Row> out = tally_rows();
  out.push_back(stat_row("", "calls of the allocator", "reqs", false));
  out.push_back(stat_row("", "served in full", "success", false));
  add_per_rung(out, "searches ended by", "hits", false);
  const std::string considered_title = "groups considered";
  out.push_back({considered_title, "  all", "groups_considered", true, considered, nullptr, {}});
  add_per_rung(out, considered_title, "groups_considered", false);
  out.push_back(stat_row("groups scanned", "  all", "groups_scanned", true));
  out.push_back(stat_row("groups scanned", "  buddies generated", "buddies_generated", false));
  out.push_back(stat_row("extents scanned", "  all", "extents_scanned", true));
  add_per_rung(out, "extents scanned", "extents_scanned", false);
  add_per_rung(out, "rungs left with nothing after all groups", "useless_loops", false);
  add_per_rung(out, "bad suggestions", "bad_suggestions", false);
  const std::string hits = "outcome of searches";
  out.push_back(stat_row(hits, "  at the goal", "goal_hits", true));
  out.push_back(stat_row(hits, "  full goal length", "len_goal_hits", true));
  out.push_back(stat_row(hits, "  whole buddy chunk", "2^n_hits", false));
  out.push_back(stat_row(hits, "  ended by mb_max_to_scan", "breaks", true));
  out.push_back(stat_row(hits, "  lost to another writer", "lost", false));
  const std::string pa = "preallocation, clusters";
  out.push_back(stat_row(pa, "  preallocated", "preallocated", true));
  out.push_back(stat_row(pa, "  discarded", "discarded", true));
  add_free_extents(out);
  add_files(out);
  return out;
}

}  // namespace

std::span<const Row> rows() {
  static const std::vector<Row> kRows = make_rows();
  return kRows;
}

std::string text_of(const Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return format_count(*count);
  if (const auto* ratio = std::get_if<double>(&value)) return fmt::format("{:.2f}", *ratio);
  return "-";
}

}  // namespace e4r::report
