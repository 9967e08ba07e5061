// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/html_data.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <set>

#include "report/columns.h"
#include "report/json_parts.h"
#include "report/page.h"
#include "report/writers.h"

namespace e4r::report {
namespace {

namespace json = boost::json;
using stats::FreeExtents;

double rounded(double value) {
  return std::round(value * 100) / 100;
}

json::object histogram(const ReplayReport& report) {
  const std::vector<Column> columns = columns_with_start(report);
  std::size_t first = FreeExtents::kBuckets, last = 0;
  for (std::size_t k = 1; k < FreeExtents::kBuckets; ++k)
    for (const Column& column : columns)
      if (column.run->free.extents.buckets[k].extents > 0) {
        first = std::min(first, k);
        last = k;
      }
  json::array from, extents, percent;
  for (std::size_t k = first; k <= last; ++k)
    from.emplace_back(bucket_kb(k, report.superblock.block_size() / 1024));
  for (const Column& column : columns) {
    const FreeExtents& free = column.run->free.extents;
    json::array counts, shares;
    for (std::size_t k = first; k <= last; ++k) {
      counts.emplace_back(free.buckets[k].extents);
      shares.emplace_back(free.blocks == 0
                              ? 0.0
                              : rounded(100 * static_cast<double>(free.buckets[k].blocks) /
                                        static_cast<double>(free.blocks)));
    }
    extents.push_back(std::move(counts));
    percent.push_back(std::move(shares));
  }
  return {{"from_kb", std::move(from)},
          {"extents", std::move(extents)},
          {"percent", std::move(percent)}};
}

using Counters = stats::KnownCounters::PerCriterion;
using Counter = stats::KnownCounters::Count Counters::*;

// Of each column; null where it is known of no criterion.
json::array per_criterion(const ReplayReport& report, const std::vector<mb::Criterion>& criteria,
                          Counter counter) {
  json::array out;
  for (const Column& column : columns(report)) {
    json::array values;
    bool known = false;
    for (const mb::Criterion c : criteria) {
      const auto value = column.run->searches[c].*counter;
      known = known || value;
      values.emplace_back(value.value_or(0));
    }
    out.push_back(known ? json::value(std::move(values)) : json::value());
  }
  return out;
}

json::object criteria(const ReplayReport& report) {
  constexpr std::array<Counter, 3> kCounters = {&Counters::hits, &Counters::groups_considered,
                                                &Counters::extents_scanned};
  std::vector<mb::Criterion> used;
  json::array names;
  std::vector<mb::CriterionRow> all = mb::ladder_criteria();
  all.push_back(mb::row_of(mb::Criterion::past_last));
  for (const mb::CriterionRow& row : all) {
    const auto any = [&](const Column& column) {
      return std::ranges::any_of(kCounters, [&](Counter counter) {
        return (column.run->searches[row.criterion].*counter).value_or(0) > 0;
      });
    };
    if (std::ranges::none_of(columns(report), any)) continue;
    used.push_back(row.criterion);
    names.emplace_back(row.name);
  }
  return {{"names", std::move(names)},
          {"hits", per_criterion(report, used, kCounters[0])},
          {"groups", per_criterion(report, used, kCounters[1])},
          {"extents", per_criterion(report, used, kCounters[2])}};
}

// Of each policy: what one decision took the recorded kernel does not show.
json::array costs(const ReplayReport& report) {
  json::array out;
  for (const results::Outcome& run : report.runs) {
    json::array requests, steps, most;
    for (const replay::CostProfile::Bucket& bucket : run.costs.course().buckets()) {
      requests.emplace_back(bucket.requests);
      steps.emplace_back(bucket.steps);
      most.emplace_back(bucket.most);
    }
    out.push_back({{"width", run.costs.course().width()},
                   {"decisions", run.costs.decisions()},
                   {"requests", std::move(requests)},
                   {"steps", std::move(steps)},
                   {"most", std::move(most)}});
  }
  return out;
}

std::string extents_label(std::size_t bucket) {
  if (bucket < 2) return bucket == 0 ? "1" : "2";
  const std::uint64_t most = 1ull << bucket;
  if (bucket + 1 == stats::FileLayoutScore::kBuckets) return fmt::format("over {}", most / 2);
  return fmt::format("{} to {}", most / 2 + 1, most);
}

json::object files(const ReplayReport& report) {
  using ByExtents = decltype(stats::FileLayoutScore::by_extents);
  std::size_t buckets = 1;
  const std::vector<Column> all = columns(report);
  for (const Column& column : all) {
    const ByExtents& by = column.run->layout.by_extents;
    for (std::size_t k = 0; k < by.size(); ++k)
      if (by[k] > 0) buckets = std::max(buckets, k + 1);
  }
  json::array labels, counts;
  for (std::size_t k = 0; k < buckets; ++k) labels.emplace_back(extents_label(k));
  for (const Column& column : all) {
    const ByExtents& by = column.run->layout.by_extents;
    counts.emplace_back(json::array(by.begin(), by.begin() + static_cast<std::ptrdiff_t>(buckets)));
  }
  return {{"labels", std::move(labels)}, {"files", std::move(counts)}};
}

// What the groups of a cell have together.
struct CellFree {
  std::uint64_t clusters = 0;
  std::uint64_t runs = 0;
};

CellFree sum_of(const std::vector<stats::GroupFree>& groups, std::size_t cell,
                std::size_t per_cell) {
  CellFree out;
  for (std::size_t i = cell * per_cell; i < std::min((cell + 1) * per_cell, groups.size()); ++i) {
    out.clusters += groups[i].clusters;
    out.runs += groups[i].runs;
  }
  return out;
}

// The cells that change from frame to frame, in the order of the frames.
json::array history(const results::Outcome& run, const std::vector<stats::GroupFree>& start,
                    std::size_t per_cell) {
  std::vector<stats::GroupFree> now = start;
  json::array out;
  for (const stats::SpaceHistory::Frame& frame : run.history.frames()) {
    std::set<std::size_t> touched;
    for (const stats::SpaceHistory::Change& change : frame.changes) {
      now[change.group] = change.now;
      touched.insert(change.group / per_cell);
    }
    json::array cells, free, runs;
    for (const std::size_t cell : touched) {
      const CellFree sum = sum_of(now, cell, per_cell);
      cells.emplace_back(cell);
      free.emplace_back(sum.clusters);
      runs.emplace_back(sum.runs);
    }
    out.push_back({{"decision", frame.decision},
                   {"cells", std::move(cells)},
                   {"free", std::move(free)},
                   {"runs", std::move(runs)}});
  }
  return out;
}

json::object map(const ReplayReport& report) {
  const image::SuperblockInfo& g = report.superblock;
  const std::size_t groups = report.start.free.space.groups.size();
  const std::size_t per_cell = std::max<std::size_t>((groups + kMostCells - 1) / kMostCells, 1);
  json::array free, runs;
  const auto add = [&](const stats::FreeSpace& space) {
    json::array clusters, fragments;
    for (std::size_t cell = 0; cell * per_cell < groups; ++cell) {
      const CellFree sum = sum_of(space.groups, cell, per_cell);
      clusters.emplace_back(sum.clusters);
      fragments.emplace_back(sum.runs);
    }
    free.push_back(std::move(clusters));
    runs.push_back(std::move(fragments));
  };
  json::array histories;
  add(report.start.free.space);
  for (const Column& column : columns(report)) {
    add(column.run->free.space);
    histories.push_back(history(*column.run, report.start.free.space.groups, per_cell));
  }
  const std::uint64_t ratio = 1ull << g.cluster_bits;
  return {{"groups", groups},
          {"per_cell", per_cell},
          {"clusters", (g.blocks_count - g.first_data_block + ratio - 1) / ratio},
          {"clusters_per_group", g.blocks_per_group / ratio},
          {"cluster_kb", g.block_size() / 1024 * ratio},
          {"free", std::move(free)},
          {"runs", std::move(runs)},
          {"history", std::move(histories)}};
}

// Of each policy, by its outcomes.
json::array writers(const ReplayReport& report) {
  json::array out;
  for (const results::Outcome& run : report.runs) {
    json::array outcomes;
    for (const results::Outcome& by : run.by_writers) {
      const contention::Outcome& outcome = *by.writers;
      json::array locks;
      for (const auto& [name, waits] : outcome.waits)
        locks.push_back({{"name", name}, {"percent", rounded(100 * outcome.share_waited(waits))}});
      outcomes.push_back({{"writers", outcome.writers},
                          {"rate", std::round(outcome.requests_per_second())},
                          {"waiting", rounded(100 * outcome.share_waited(outcome.all_waits()))},
                          {"locks", std::move(locks)}});
    }
    out.push_back(std::move(outcomes));
  }
  return out;
}

}  // namespace

std::string html_data(const ReplayReport& report) {
  json::array policies;
  for (const results::Outcome& run : report.runs) policies.emplace_back(run.policy->name);
  json::object data = {{"recorded", first_policy(report) > 0},
                       {"policies", std::move(policies)},
                       {"criteria", criteria(report)},
                       {"cost", costs(report)},
                       {"histogram", histogram(report)},
                       {"map", map(report)},
                       {"files", files(report)}};
  if (has_writers(report)) data["writers"] = writers(report);
  return script_json(data);
}

}  // namespace e4r::report
