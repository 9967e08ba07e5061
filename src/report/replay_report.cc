// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/replay_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "replay/engine.h"
#include "report/headline.h"
#include "report/page.h"
#include "trace/trace.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::report {
namespace {

// Whether the values differ as they are printed. A figure that the recorded kernel's column lacks
// is ignored.
bool differs(const std::vector<results::Value>& values, const std::vector<Column>& columns) {
  std::set<std::string> said;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool absent = results::is_none(values[i]);
    if (!absent || !columns[i].recorded)
      said.insert(results::is_zero_or_none(values[i]) ? "" : results::text_of(values[i]));
  }
  return said.size() > 1;
}

// Returns the indentation of the row's label. A label with a greater indentation is a part of the
// row above it: "  all" is part of a heading, and "    of free space, %" is part of "  all".
std::size_t depth_of(const results::Row& row) {
  return row.label.find_first_not_of(' ');
}

// Returns the row of which the row at `index` is a part, according to the indentation. Empty if the
// row is not a part of another row.
std::optional<std::size_t> whole_of(const std::vector<const results::Row*>& all,
                                    std::size_t index) {
  for (std::size_t i = index; i-- > 0 && all[i]->section == all[index]->section;)
    if (depth_of(*all[i]) < depth_of(*all[index])) return i;
  return std::nullopt;
}

}  // namespace

std::vector<Column> columns(const ReplayReport& report) {
  std::vector<Column> out;
  if (report.kernel && report.kernel->run) out.push_back({"recorded", &*report.kernel->run, true});
  for (const results::Outcome& run : report.runs)
    out.push_back({std::string(run.policy->name), &run, false});
  return out;
}

std::vector<Column> columns_with_start(const ReplayReport& report) {
  std::vector<Column> out = columns(report);
  out.insert(out.begin(), {"start", &report.start, false});
  return out;
}

std::size_t first_policy(const ReplayReport& report) {
  return report.kernel && report.kernel->run ? 1 : 0;
}

std::vector<results::Value> values_of(const results::Row& row, const std::vector<Column>& columns) {
  std::vector<results::Value> values;
  values.reserve(columns.size());
  for (const Column& column : columns) values.push_back(row.of(*column.run));
  return values;
}

std::string change_head(const ReplayReport& report) {
  return report.runs.size() == 2 ? fmt::format("against {}", report.runs.front().policy->name)
                                 : std::string();
}

double luck_of(const ReplayReport& report,
               const std::function<results::Value(const results::Outcome&)>& figure) {
  return results::luck_of(report.orders, figure);
}

std::string luck_text(const ReplayReport& report) {
  if (report.orders.empty()) return {};
  const bool varies = std::ranges::any_of(
      results::rows(), [&](const results::Row& row) { return luck_of(report, row.of) != 0; });
  return fmt::format("{} under {} in {} other orders of overlapping requests",
                     varies ? "how much a figure varies" : "no figure varies",
                     report.recorded_policy, report.orders.size() - 1);
}

std::string change_text(const ReplayReport& report, const results::Row& row,
                        const std::vector<results::Value>& values) {
  return results::change_text(values[first_policy(report)], values.back(), luck_of(report, row.of));
}

bool is_shown(const results::Row& row, const std::vector<results::Value>& values) {
  return row.show == results::Show::always ||
         (row.show == results::Show::nonzero &&
          !std::ranges::all_of(values, results::is_zero_or_none));
}

RowChoice choose_rows(const ReplayReport& report, bool all) {
  std::vector<const results::Row*> whole;
  std::vector<bool> chosen;
  const std::vector<Column> beside = columns(report);
  for (const results::Row& row : results::rows()) {
    const std::vector<results::Value> values = values_of(row, beside);
    if (!is_shown(row, values)) continue;
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

std::vector<std::string> workload_text(const WorkloadFacts& workload) {
  std::vector<std::string> out = {
      fmt::format("{}: files {}, writers {}, {} requests as {} makes them", workload.text,
                  format_count(workload.files), format_count(workload.writers),
                  format_count(workload.requests), workload.policy)};
  out.push_back(workload.failed == 0
                    ? "nothing failed for lack of space"
                    : fmt::format("failed for lack of space: {}; not written: {} of {}",
                                  format_count(workload.failed), format_size(workload.bytes_lost),
                                  format_size(workload.bytes_wanted)));
  if (workload.ignored.empty()) return out;
  out.push_back(fmt::format("settings that change no allocation ({}): {}", workload.ignored.size(),
                            fmt::join(workload.ignored, ", ")));
  return out;
}

std::string kernel_text(const ReplayReport& report) {
  return report.release.empty() ? std::string(trace::kernel_of(report.trace)) : report.release;
}

std::string past_last_text(const ReplayReport& report) {
  const auto any = [](const results::Outcome& run) {
    return run.searches[mb::Criterion::past_last].hits.value_or(0) > 0;
  };
  if (std::ranges::none_of(report.runs, any) &&
      !(report.kernel && report.kernel->run && any(*report.kernel->run)))
    return {};
  return "past CR3: no group ended the search, and it took the best extent that CR3 had seen. "
         "Linux "
         "6.12.77 and later, and 6.17 and later, count these apart; other kernels count them as "
         "CR3's.";
}

namespace {

// Returns why no figures of the recorded kernel can be given; empty if they can. Differing
// decisions of the model are not a reason, because the recorded results replace the model's.
std::string cannot_show(const replay::Engine& followed) {
  if (followed.decisions() == 0) return "the trace closes no decision";
  constexpr std::uint64_t kFew = 100;  // one in this many counts as few
  const replay::ClosingCounts& all = followed.closings();
  const replay::Contradictions& c = followed.contradictions();
  const bool few = c.in_use <= all.allocated / kFew && c.not_in_use <= all.requests / kFew;
  if (few || followed.agreement().follows()) return {};
  return fmt::format(
      "the trace does not fit the image: {} of {} clusters that were handed out were in use, and "
      "{} frees were of clusters that were not",
      format_count(c.in_use), format_count(all.allocated), format_count(c.not_in_use));
}

// Returns why the kernel's mb_stats does not cover exactly the recorded requests; empty if it does.
std::string other_requests(const stats::KnownCounters& stats, std::uint64_t closed) {
  const auto requests = stats.requests;
  if (requests == closed) return {};
  return fmt::format("mb_stats counts {} requests, the trace closes {}",
                     requests ? format_count(*requests) : "no", format_count(closed));
}

}  // namespace

std::string early_reads_text(const ReplayReport& report) {
  if (report.groups_read_early == 0) return {};
  return fmt::format(
      "the bitmaps of {} of {} groups are assumed to have been in memory before a search read them "
      "ahead (found by agreement)",
      format_count(report.groups_read_early), format_count(report.superblock.groups));
}

std::string choice_text(const ReplayReport& report) {
  if (!report.choice || report.release.empty()) return {};
  const PolicyChoice& choice = *report.choice;
  const std::string names = fmt::format("{}", fmt::join(choice.allowed, ", "));
  if (choice.allowed.empty())
    return fmt::format("no policy here stands for Linux {}: {} was chosen by agreement among all",
                       report.release, choice.policy);
  const bool fits = std::ranges::find(choice.allowed, choice.policy) != choice.allowed.end();
  if (!fits)
    return fmt::format(
        "{} was chosen by agreement: it follows more decisions than the policies for Linux {} ({})",
        choice.policy, report.release, names);
  if (choice.allowed.size() == 1) return {};
  return fmt::format("{} was chosen by agreement among the policies for Linux {}: {}",
                     choice.policy, report.release, names);
}

std::string doubt_text(const ReplayReport& report) {
  if (!report.choice || report.choice->kernels_own.value_or(true)) return {};
  const replay::Agreement* agreement = report.recorded ? &*report.recorded
                                       : !report.runs.empty() && report.runs.front().agreement
                                           ? &*report.runs.front().agreement
                                           : nullptr;
  if (agreement == nullptr) return {};
  return fmt::format(
      "no policy here is this kernel's: the nearest, {}, follows {:.1f} % of its decisions",
      report.choice->policy, *agreement->percent_identical());
}

RecordedKernel summarize_recorded(const replay::Run& followed, KernelStats kernel) {
  const replay::Engine& engine = *followed.engine;
  const replay::ClosingCounts& closings = engine.closings();
  RecordedKernel out;
  out.absent = cannot_show(engine);
  if (!out.absent.empty()) return out;
  results::Outcome run = results::outcome_of(followed);
  run.costs = {};
  run.discards.reset();  // the model's discards were not recorded
  if (engine.discards() != nullptr && engine.recorded_discards().issued > 0)
    run.discards = engine.recorded_discards();
  run.decisions_hash = closings.hash.value();
  run.tally.requests = closings.requests;
  run.tally.failed = closings.failed;
  run.tally.allocated_blocks = engine.state().geometry().to_blocks(closings.allocated);
  out.why_not = std::move(kernel.why_not);
  if (kernel.stats) out.why_not = other_requests(*kernel.stats, closings.requests);
  run.searches = out.by_mb_stats() ? *kernel.stats : stats::KnownCounters();
  run.searches.add_missing(stats::known_counters(engine.policy(), closings));
  out.run = std::move(run);
  return out;
}

std::string recorded_text(const RecordedKernel& kernel) {
  if (!kernel.run) return fmt::format("no column for the recorded kernel: {}", kernel.absent);
  if (kernel.by_mb_stats()) return "recorded: searches as the kernel's mb_stats counts them";
  return fmt::format("recorded: searches as the trace shows them, since {}", kernel.why_not);
}

std::string share_text(const replay::Agreement& agreement, std::uint64_t of) {
  const auto percent = agreement.percent(of);
  if (!percent) return "-";
  // Never rounds up to 100 %.
  constexpr double kJustBelow = 99.999;
  return fmt::format("{:.3f} %",
                     of < agreement.requests ? std::min(*percent, kJustBelow) : *percent);
}

std::vector<AgreementRow> agreement_rows(const replay::Agreement& a) {
  std::vector<AgreementRow> out = {
      {"decisions", "requests", a.requests, false},
      {"identical", "identical", a.identical, true},
      {"  same block", "same_block", a.same_block, true},
      {"  same length", "same_length", a.same_length, true},
      {"  same criterion", "same_criterion", a.same_criterion, true},
      {"  same extents found", "same_found", a.same_found, true},
      {"  same groups scanned", "same_groups_scanned", a.same_groups_scanned, true}};
  const auto add = [&](const char* label, const char* key, std::uint64_t count) {
    if (count > 0) out.push_back({label, key, count, false});
  };
  add("last divergence, decision", "last_divergence", a.last_divergence);
  add("overlapping another thread", "races", a.races);
  add("a locked group skipped", "skips", a.skips);
  add("decided at the answer", "decided_at_answer", a.late);
  add("saw an earlier state", "saw_earlier", a.earlier);
  add("corrected (resync)", "forced", a.forced);
  add("clusters in conflict", "conflicting_clusters", a.conflicts);
  return out;
}

std::string groups_text(const results::Outcome& run) {
  if (!run.groups) return {};
  const stats::MbGroupsComparison& g = *run.groups;
  return g.equal() ? fmt::format("mb_groups: all {} groups equal", format_count(g.compared))
                   : fmt::format("mb_groups: {} of {} groups differ, first {}",
                                 format_count(g.differing), format_count(g.compared), g.first);
}

std::string stats_text(const results::Outcome& run) {
  if (!run.kernel_stats) return {};
  const stats::MbStatsComparison& s = *run.kernel_stats;
  std::string text =
      fmt::format("mb_stats: {} of {} counters equal", format_count(s.equal_ones()), s.compared);
  if (!s.open.empty())
    text += fmt::format(", {} within the range that locked groups leave open", s.open.size());
  if (!s.missing.empty())
    text += fmt::format(" (missing in the kernel's text: {})", fmt::join(s.missing, ", "));
  if (!s.not_modelled.empty())
    text += fmt::format(" (not modelled: {})", fmt::join(s.not_modelled, ", "));
  return text;
}

namespace {

// Explains how far the figures can be trusted.
std::string writers_note(const contention::Pace& pace) {
  constexpr std::size_t kWidth = 110;
  return wrap(
      fmt::format(
          "A simulation. The allocator decides a request when its writer makes it. A writer thinks "
          "{}, and takes the locks of fs/ext4/mballoc.c as the code does. The simulation leaves "
          "out "
          "all other locks, the locks of commits, and what CPUs cost each other besides "
          "the cache lines of a shared group.",
          pace_text(pace)),
      kWidth);
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

// Names the locks for which writers waited longest.
std::string name_longest_waits(const contention::SimulationOutcome& outcome) {
  constexpr std::size_t kMost = 2;
  constexpr double kLeast = 0.0005;  // a smaller share would be printed as 0.0 %
  std::string out;
  std::size_t named = 0;
  for (const auto& [name, waits] : outcome.waits) {
    const double share = outcome.share_waited(waits);
    if (named++ == kMost || share < kLeast) break;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", escape(name), percent(share));
  }
  return out.empty() ? "-" : out;
}

}  // namespace

std::string pace_text(const contention::Pace& pace) {
  if (pace.think_ns) {
    const auto ns = static_cast<double>(*pace.think_ns);
    if (ns == 0) return "for no time";
    if (ns >= 1e6) return fmt::format("for {:g} ms on average", ns / 1e6);
    if (ns >= 1e3) return fmt::format("for {:g} µs on average", ns / 1e3);
    return fmt::format("for {} ns on average", *pace.think_ns);
  }
  if (pace.scale != 1)
    return fmt::format("for {:g} times as long as the recorded one did", pace.scale);
  return "for as long as the recorded one did";
}

bool has_writers(const ReplayReport& report) {
  return std::ranges::any_of(report.runs,
                             [](const results::Outcome& run) { return !run.by_writers.empty(); });
}

std::string writers_text(const ReplayReport& report) {
  if (!has_writers(report)) return {};
  TextTable table;
  table.row({"many writers", "writers", "CPUs", "requests/s", "of the first", "extents per file",
             "seek, KB", "waiting", "for"});
  table.rule();
  for (const results::Outcome& run : report.runs) {
    std::string name(run.policy->name);
    for (const results::Outcome& by : run.by_writers) {
      const contention::SimulationOutcome& outcome = *by.writers;
      const double first = run.by_writers.front().writers->requests_per_second();
      const double rate = outcome.requests_per_second();
      table.row(
          {std::exchange(name, {}), format_count(outcome.writers), format_count(outcome.cpus),
           format_count(static_cast<std::uint64_t>(rate)),
           first == 0 ? "-" : fmt::format("x{:.2f}", rate / first),
           fmt::format("{:.2f}", by.files.extents_per_file()),
           format_count(by.layout.distance_kb(by.layout.files, report.superblock.block_size())),
           percent(outcome.share_waited(outcome.all_waits())), name_longest_waits(outcome)});
    }
  }
  return "\n" + table.text() + writers_note(report.pace);
}

namespace {

namespace json = boost::json;

// Returns the column's entry for that inode, or an entry without extents if the column does not
// contain the inode.
stats::FilePieces find_file(const std::vector<stats::FilePieces>& column, std::uint64_t ino) {
  const auto at = std::ranges::lower_bound(column, ino, {}, &stats::FilePieces::ino);
  return at != column.end() && at->ino == ino ? *at : stats::FilePieces{ino, 0, 0};
}

std::uint64_t blocks_of(const FragmentedFile& file) {
  return std::ranges::max_element(file.columns, {}, &stats::FilePieces::blocks)->blocks;
}

std::string extents_text(const stats::FilePieces& file) {
  return file.extents == 0 ? "-" : format_count(file.extents);
}

std::string path_text(const FragmentedFile& file) {
  return file.is_new ? "(new)" : escape(file.path);
}

// Explains the list, and how to find paths that it lacks.
std::string note(const FragmentedFiles& all) {
  std::string out = fmt::format(
      "The {} of {} files that have the most extents in any column, counting only blocks that the "
      "trace allocated. ",
      format_count(all.files.size()), format_count(all.all));
  if (!all.has_paths)
    return out +
           "The image has no inodes, so no path is known: `find MOUNTPOINT -inum N` finds one.";
  return out + "Paths are those at the start; (new): created during the recording.";
}

json::object pieces_json(const stats::FilePieces& file) {
  return {{"extents", file.extents}, {"blocks", file.blocks}};
}

}  // namespace

FragmentedFiles most_fragmented(std::span<const std::vector<stats::FilePieces>> columns,
                                std::size_t count) {
  std::vector<stats::FilePieces> all;
  for (const auto& column : columns) all.insert(all.end(), column.begin(), column.end());
  // Keeps one entry for each file: the one with the most extents in any column.
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    return a.ino != b.ino ? a.ino < b.ino : a.extents > b.extents;
  });
  const auto same_file = [](const auto& a, const auto& b) { return a.ino == b.ino; };
  all.erase(std::unique(all.begin(), all.end(), same_file), all.end());
  std::ranges::stable_sort(all, std::ranges::greater(), &stats::FilePieces::extents);
  FragmentedFiles out;
  out.all = all.size();
  all.resize(std::min(count, all.size()));
  for (const stats::FilePieces& worst : all) {
    FragmentedFile& file = out.files.emplace_back();
    file.ino = worst.ino;
    for (const auto& column : columns) file.columns.push_back(find_file(column, worst.ino));
  }
  return out;
}

std::string fragmented_text(const ReplayReport& report) {
  if (!report.fragmented) return {};
  TextTable table;
  std::vector<std::string> cells = {"extents of files", "blocks"};
  for (const Column& column : columns(report)) cells.push_back(column.name);
  table.row(cells);
  table.rule();
  for (const FragmentedFile& file : report.fragmented->files) {
    cells = {fmt::format("inode {}  {}", file.ino, path_text(file)), format_count(blocks_of(file))};
    for (const stats::FilePieces& pieces : file.columns) cells.push_back(extents_text(pieces));
    table.row(cells);
  }
  return table.text() + wrap(note(*report.fragmented));
}

json::array fragmented_json(const ReplayReport& report) {
  json::array out;
  if (!report.fragmented) return out;
  const std::size_t first = first_policy(report);
  for (const FragmentedFile& file : report.fragmented->files) {
    json::object one = {{"inode", file.ino},
                        {"path", file.path.empty() ? json::value() : json::value(file.path)},
                        {"new", file.is_new}};
    json::array runs;
    for (std::size_t i = 0; i < file.columns.size(); ++i)
      if (i < first)
        one["recorded"] = pieces_json(file.columns[i]);
      else
        runs.push_back(pieces_json(file.columns[i]));
    one["runs"] = std::move(runs);
    out.push_back(std::move(one));
  }
  return out;
}

std::string fragmented_html(const ReplayReport& report) {
  if (!report.fragmented || report.fragmented->files.empty()) return {};
  std::string out =
      "<h3>Files with most extents</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"files with most extents\">\n<table><thead><tr><th>inode</th><th>blocks</th>";
  for (const Column& column : columns(report))
    out += fmt::format("<th>{}</th>", html_escape(column.name));
  out += "<th class=\"name\">path</th></tr></thead><tbody>\n";
  for (const FragmentedFile& file : report.fragmented->files) {
    out += fmt::format("<tr><td>{}</td><td>{}</td>", file.ino, format_count(blocks_of(file)));
    for (const stats::FilePieces& pieces : file.columns)
      out += fmt::format("<td>{}</td>", extents_text(pieces));
    out += fmt::format("<td class=\"name\">{}</td></tr>\n", html_escape(path_text(file)));
  }
  return out + "</tbody></table></div>\n<p class=\"note\">" +
         html_escape(note(*report.fragmented)) + "</p>\n";
}

}  // namespace e4r::report
