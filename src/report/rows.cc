// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/rows.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <vector>

#include "report/layout_rows.h"
#include "util/units.h"

namespace e4r::report {
namespace {

using Run = const RunReport&;
using Report = const ReplayReport&;

Value value_of(std::optional<std::uint64_t> count) {
  return count ? Value(*count) : Value();
}

// What the kernel's counter means. A kernel counts a search that ended past the last criterion
// among the useless loops of its first one (GroupRules::counts_past_last); those have a row of
// their own.
Value mb_stat(Run run, std::string_view name) {
  auto found = stats::find_stat(run.mb_stats, name);
  if (!found) return {};
  const mb::Criterion first =
      run.policy ? run.policy->ladder.front().criterion : mb::Criterion::cr0;
  if (name == stats::stat_name(first, "useless_loops"))
    *found -= std::min(*found, run.past_last.value_or(0));
  return *found;
}

std::uint64_t kb(Report report, std::uint64_t blocks) {
  return blocks * (report.superblock.block_size() / 1024);
}

Value considered(Run run, Report) {
  const auto total = stats::groups_considered(run.mb_stats);
  return total ? Value(*total) : Value();
}

Row stat_row(const std::string& section, const std::string& label, const std::string& name,
             Show show, Better better = Better::none) {
  return {section,
          label,
          "mb_stats/" + name,
          show,
          [name](Run run, Report) { return mb_stat(run, name); },
          {},
          better};
}

void add_tally(std::vector<Row>& out) {
  using replay::Tally;
  const auto add = [&](const char* label, const char* key, Show show, std::uint64_t Tally::*member,
                       Better better = Better::none) {
    out.push_back({"",
                   label,
                   key,
                   show,
                   [member](Run run, Report) -> Value { return run.tally.*member; },
                   {},
                   better});
  };
  add("requests", "requests", Show::always, &Tally::requests);
  add("blocks allocated", "allocated_blocks", Show::always, &Tally::allocated_blocks);
  add("failed, no space", "failed", Show::always, &Tally::failed, Better::lower);
  add("metadata requests", "metadata_requests", Show::nonzero, &Tally::metadata);
  add("  for mappings of files, as recorded", "mapping_requests", Show::nonzero, &Tally::mapping);
  add("requests more than recorded", "extra_requests", Show::nonzero, &Tally::extra, Better::lower);
  add("recorded requests not needed", "absorbed_requests", Show::nonzero, &Tally::absorbed);
  add("refused before the allocator", "refused_requests", Show::nonzero, &Tally::refused);
  add("clusters freed", "freed_clusters", Show::nonzero, &Tally::freed_clusters);
  add("frees of what is not in use", "bad_frees", Show::nonzero, &Tally::bad_frees);
  add("requests outside the image", "bad_requests", Show::nonzero, &Tally::bad_requests);
  add("decided by a file size not recorded", "guessed_sizes", Show::nonzero, &Tally::guessed_sizes);
  add("decided by writers not recorded", "guessed_writers", Show::nonzero, &Tally::guessed_writers);
}

// One row per rung of a counter that each rung has.
void add_per_rung(std::vector<Row>& out, const std::string& title, const std::string& counter,
                  Better better) {
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    out.push_back(stat_row(title, fmt::format("  {}", row.title),
                           stats::stat_name(row.criterion, counter), Show::nonzero, better));
}

// A row that is always shown; `start` may be null.
using OfRun = Value (*)(Run, Report);
using OfStart = Value (*)(Report);
Row always(const char* section, const char* label, const char* key, OfRun run, OfStart start,
           Better better) {
  return {section, label, key, Show::always, run, start, better};
}

void add_free_extents(std::vector<Row>& out) {
  const auto add = [&](const char* label, const char* key, Better better, OfRun run,
                       OfStart start) {
    out.push_back(always("free extents at the end", label, key, run, start, better));
  };
  add(
      "  count", "free_extents/count", Better::lower,
      [](Run r, Report) -> Value { return r.free_extents.count; },
      [](Report p) -> Value { return p.before.count; });
  add(
      "  smallest, KB", "free_extents/min_kb", Better::none,
      [](Run r, Report p) -> Value { return kb(p, r.free_extents.min); },
      [](Report p) -> Value { return kb(p, p.before.min); });
  add(
      "  largest, KB", "free_extents/max_kb", Better::higher,
      [](Run r, Report p) -> Value { return kb(p, r.free_extents.max); },
      [](Report p) -> Value { return kb(p, p.before.max); });
  add(
      "  average, KB", "free_extents/avg_kb", Better::higher,
      [](Run r, Report p) -> Value { return kb(p, r.free_extents.average()); },
      [](Report p) -> Value { return kb(p, p.before.average()); });
}

void add_files(std::vector<Row>& out) {
  const auto add = [&](const char* label, const char* key, Better better, OfRun run) {
    out.push_back(always("files written", label, key, run, nullptr, better));
  };
  add("  count", "files/count", Better::none, [](Run r, Report) -> Value { return r.files.files; });
  add("  extents", "files/extents", Better::lower,
      [](Run r, Report) -> Value { return r.files.extents; });
  add("  extents per file", "files/avg_extents", Better::lower, [](Run r, Report) -> Value {
    if (r.files.files == 0) return {};
    return r.files.extents_per_file();
  });
  add("  most extents in one", "files/max_extents", Better::lower,
      [](Run r, Report) -> Value { return r.files.most_extents; });
  add("  in one extent", "files/single_extent", Better::higher,
      [](Run r, Report) -> Value { return r.files.one_extent; });
  add("  score of e4defrag", "files/e4defrag_score", Better::lower, [](Run r, Report) -> Value {
    const auto score = r.files.defrag_score();
    return score ? Value(*score) : Value();
  });
  out.back().show = Show::never;
}

// What the device is told of, where the mount does that.
void add_discards(std::vector<Row>& out) {
  const auto add = [&](const char* label, const char* key, Better better, OfRun run) {
    out.push_back({"discards", label, key, Show::nonzero, run, {}, better});
  };
  add("  issued", "discards/issued", Better::lower,
      [](Run r, Report) { return r.discards ? Value(r.discards->issued) : Value(); });
  add("  blocks", "discards/blocks", Better::none,
      [](Run r, Report) { return r.discards ? Value(r.discards->blocks) : Value(); });
  add("  average length, blocks", "discards/avg_blocks", Better::higher,
      [](Run r, Report) -> Value {
        if (!r.discards || r.discards->issued == 0) return {};
        return static_cast<double>(r.discards->blocks) / static_cast<double>(r.discards->issued);
      });
}

constexpr std::string_view kTimes = "decision_ns/";

// What a kernel's code took; models have none of these.
void add_times(std::vector<Row>& out) {
  const std::string section = "time of a decision, ns";
  const auto add = [&](std::string label, std::string key, auto of) {
    out.push_back({section,
                   std::move(label),
                   std::string(kTimes) + std::move(key),
                   Show::nonzero,
                   [of](Run run, Report) { return value_of(of(run.times)); },
                   {},
                   Better::lower});
  };
  using Times = allocator::DecisionTimes;
  add("  mean", "mean", [](const Times& times) { return times.mean(); });
  add("  median", "p50", [](const Times& times) { return times.percentile(0.5); });
  add("  99 % took no more", "p99", [](const Times& times) { return times.percentile(0.99); });
  add("  mean, from a preallocation", "preallocation",
      [](const Times& times) { return times.mean_of(mb::Criterion::unknown); });
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    add(fmt::format("  mean, {}", row.title), std::string(row.key),
        [of = row.criterion](const Times& times) { return times.mean_of(of); });
}

std::vector<Row> make_rows() {
  std::vector<Row> out;
  add_tally(out);
  out.push_back(stat_row("", "calls of the allocator", "reqs", Show::never));
  out.push_back(stat_row("", "served in full", "success", Show::nonzero));
  add_per_rung(out, "searches ended by", "hits", Better::none);
  out.push_back({"searches ended by",
                 fmt::format("  {}", mb::row_of(mb::Criterion::past_last).title),
                 "searches_past_cr3",
                 Show::nonzero,
                 [](Run run, Report) { return value_of(run.past_last); },
                 {},
                 Better::none});
  out.push_back({"groups considered",
                 "  all",
                 "groups_considered",
                 Show::always,
                 considered,
                 {},
                 Better::lower});
  add_per_rung(out, "groups considered", "groups_considered", Better::lower);
  out.push_back(stat_row("groups scanned", "  all", "groups_scanned", Show::always, Better::lower));
  out.push_back(stat_row("groups scanned", "  buddies generated", "buddies_generated",
                         Show::nonzero, Better::lower));
  out.push_back(
      stat_row("extents scanned", "  all", "extents_scanned", Show::always, Better::lower));
  add_per_rung(out, "extents scanned", "extents_scanned", Better::lower);
  add_per_rung(out, "rungs left with nothing after all groups", "useless_loops", Better::lower);
  add_per_rung(out, "bad suggestions", "bad_suggestions", Better::lower);
  add_times(out);
  const std::string hits = "outcome of searches";
  out.push_back(stat_row(hits, "  at the goal", "goal_hits", Show::always, Better::higher));
  out.push_back(
      stat_row(hits, "  full goal length", "len_goal_hits", Show::always, Better::higher));
  out.push_back(stat_row(hits, "  whole buddy chunk", "2^n_hits", Show::nonzero));
  out.push_back(stat_row(hits, "  ended by mb_max_to_scan", "breaks", Show::always, Better::lower));
  out.push_back(stat_row(hits, "  lost to another writer", "lost", Show::nonzero));
  const std::string pa = "preallocation, clusters";
  out.push_back(stat_row(pa, "  preallocated", "preallocated", Show::always));
  out.push_back(stat_row(pa, "  discarded", "discarded", Show::always, Better::lower));
  add_discards(out);
  add_free_extents(out);
  add_files(out);
  add_layout_rows(out);
  return out;
}

// What most people ask for.
constexpr auto kCommon = std::to_array<std::string_view>(
    {"requests", "allocated_blocks", "failed", "groups_considered", "mb_stats/extents_scanned",
     "free_extents/count", "free_extents/avg_kb", "files/count", "files/extents",
     "files/avg_extents", "files/max_extents", "layout/score_percent"});

bool empty(const Value& value) {
  return number_of(value).value_or(0) == 0;
}

// Whether columns say different things to a reader. What was not recorded says nothing.
bool differs(const std::vector<Value>& values, const std::vector<Column>& columns) {
  std::set<std::string> said;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool absent = std::holds_alternative<std::monostate>(values[i]);
    if (!absent || !columns[i].recorded) said.insert(empty(values[i]) ? "" : text_of(values[i]));
  }
  return said.size() > 1;
}

// Levels of a label: "  all" stands below a heading, "    of free space, %" below such a row.
std::size_t depth_of(const Row& row) {
  return row.label.find_first_not_of(' ');
}

// The row that the one at `index` is a part of, by its indentation; none: it stands for itself.
std::optional<std::size_t> whole_of(const std::vector<const Row*>& all, std::size_t index) {
  for (std::size_t i = index; i-- > 0 && all[i]->section == all[index]->section;)
    if (depth_of(*all[i]) < depth_of(*all[index])) return i;
  return std::nullopt;
}

}  // namespace

std::vector<Column> columns(const ReplayReport& report) {
  std::vector<Column> out;
  if (report.kernel && report.kernel->run) out.push_back({"recorded", &*report.kernel->run, true});
  for (const RunReport& run : report.runs)
    out.push_back({std::string(run.policy->name), &run, false});
  return out;
}

std::size_t first_policy(const ReplayReport& report) {
  return columns(report).size() - report.runs.size();
}

std::vector<Value> values_of(const Row& row, const ReplayReport& report) {
  std::vector<Value> values;
  for (const Column& column : columns(report)) values.push_back(row.run(*column.run, report));
  return values;
}

std::string change_head(const ReplayReport& report) {
  return report.runs.size() == 2 ? fmt::format("against {}", report.runs.front().policy->name)
                                 : std::string();
}

bool shown(const Row& row, const std::vector<Value>& values) {
  return row.show == Show::always ||
         (row.show == Show::nonzero && !std::all_of(values.begin(), values.end(), empty));
}

RowChoice choose_rows(const ReplayReport& report, bool all) {
  std::vector<const Row*> whole;
  std::vector<bool> chosen;
  const std::vector<Column> beside = columns(report);
  for (const Row& row : rows()) {
    const std::vector<Value> values = values_of(row, report);
    if (!shown(row, values)) continue;
    whole.push_back(&row);
    chosen.push_back(all || row.common || differs(values, beside));
  }
  for (std::size_t i = whole.size(); i-- > 0;)
    if (const auto of = whole_of(whole, i); of && chosen[i]) chosen[*of] = true;
  RowChoice out;
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (chosen[i]) out.rows.push_back(whole[i]);
  out.left_out = whole.size() - out.rows.size();
  return out;
}

std::string change_text(const Value& from, const Value& to) {
  const auto a = number_of(from), b = number_of(to);
  if (!a || !b) return {};
  if (*a == *b) return "=";
  if (*a == 0) return "new";
  const double percent = (*b - *a) / *a * 100;
  if (percent > 999) return fmt::format("x{:.1f}", *b / *a);
  const std::string rounded = fmt::format("{:+.1f}", percent);
  return (rounded == "-0.0" || rounded == "+0.0" ? "0.0" : rounded) + " %";
}

// Rungs that files name have rows too. Rows that somebody holds stay.
std::span<const Row> rows() {
  static std::mutex making;
  static std::array<std::vector<Row>, mb::kOwnCriteria + 1> all;
  const std::lock_guard lock(making);
  std::vector<Row>& now = all[mb::own_criteria()];
  if (!now.empty()) return now;
  now = make_rows();
  for (std::size_t i = 0; i < now.size(); ++i) {
    now[i].place = i;
    now[i].common = std::ranges::find(kCommon, now[i].key) != kCommon.end();
  }
  return now;
}

bool has_model(const Row& row) {
  return !row.key.starts_with(kTimes);
}

const Row* find_row(std::string_view key) {
  const auto all = rows();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Row& r) { return r.key == key; });
  return found == all.end() ? nullptr : &*found;
}

std::optional<double> number_of(const Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*count);
  if (const auto* ratio = std::get_if<double>(&value)) return *ratio;
  return std::nullopt;
}

std::string text_of(const Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return format_count(*count);
  if (const auto* ratio = std::get_if<double>(&value)) return fmt::format("{:.2f}", *ratio);
  return "-";
}

}  // namespace e4r::report
