// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "replay/checkpoint.h"
#include "report/headline.h"
#include "report/json_parts.h"
#include "report/replay_report.h"
#include "trace/trace.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::report {
namespace {

using stats::FreeExtents;

// Describes what a mounted file system had in memory at the start.
std::string warm_start(const ReplayReport& report) {
  if (!report.warm) return {};
  const replay::WarmStart& w = *report.warm;
  if (w.checkpoint != nullptr)
    return fmt::format(
        "start  a checkpoint of the recorder's model: {} preallocations, {} freed extents that "
        "wait for a commit\n",
        format_count(w.checkpoint->preallocs.size()), format_count(w.checkpoint->freed.size()));
  std::string out = fmt::format(
      "start  mounted before, with {} clusters preallocated as {} shows, {} as mb_groups does\n",
      format_count(w.read_from_memory.value_or(w.shown_by_trace)),
      w.read_from_memory ? "the kernel's memory" : "the trace", format_count(w.found_by_counters));
  if (w.precedences > 0)
    out += fmt::format("       the order of groups on its lists follows from {} decisions\n",
                       format_count(w.precedences));
  if (w.groups_not_explained > 0)
    out += fmt::format("       {} more, in {} groups, lie at unknown places\n",
                       format_count(w.not_found), format_count(w.groups_not_explained));
  return out;
}

// Describes the program whose requests were made without a trace.
std::string workload_lines(const WorkloadFacts& workload) {
  std::string out;
  for (const std::string& line : workload_text(workload))
    out += fmt::format("{} {}\n", out.empty() ? "load  " : "      ", escape(line));
  return out;
}

std::string header(const ReplayReport& report) {
  const image::SuperblockInfo& g = report.superblock;
  std::string text = fmt::format("image  {}: {}, {} blocks, {} groups\n", escape(report.image_path),
                                 format_size(g.blocks_count * g.block_size()),
                                 format_size(g.block_size()), format_count(g.groups));
  if (g.cluster_bits != 0)
    text.insert(
        text.size() - 1,
        fmt::format(", {} clusters", format_size(std::uint64_t{g.block_size()} << g.cluster_bits)));
  if (report.workload)
    text += workload_lines(*report.workload);
  else
    text += fmt::format("trace  {}: {} events, {} requests, Linux {}, device {}\n",
                        escape(report.trace_path), format_count(report.trace.events),
                        format_count(report.trace.count(trace::EventKind::request_blocks)),
                        escape(kernel_text(report)), report.device);
  for (const std::string& line : trace::not_understood(report.trace))
    text += fmt::format("       not understood: {}\n", line);
  if (report.contradictions.any())
    text += fmt::format("       contradicts itself or the image: {}\n",
                        describe(report.contradictions));
  for (const NotModelled& what : report.not_modelled)
    text += fmt::format("       not modelled: {}\n", what.meaning);
  text += warm_start(report);
  return text;
}

// Says how the policy that follows the recorded kernel was chosen.
std::string whose_policy(const ReplayReport& report) {
  std::string text;
  for (const std::string& line :
       {choice_text(report), doubt_text(report), early_reads_text(report)})
    if (!line.empty()) text += fmt::format("       {}\n", escape(line));
  return text;
}

std::string fidelity(const ReplayReport& report) {
  if (!report.recorded || report.workload) return {};
  const replay::Agreement& a = *report.recorded;
  std::string text = fmt::format("model  {} of {} recorded decisions identical under {} ({})\n",
                                 format_count(a.identical), format_count(a.requests),
                                 report.recorded_policy, share_text(a, a.identical)) +
                     whose_policy(report);
  if (report.kernel) text += fmt::format("       {}\n", escape(recorded_text(*report.kernel)));
  return text;
}

std::string luck_line(const ReplayReport& report) {
  const std::string text = luck_text(report);
  return text.empty() ? text : "luck   " + escape(text) + "\n";
}

// Names the policies that were never compared with a kernel.
std::string describe_unverified(const ReplayReport& report) {
  std::string text;
  for (const results::Outcome& run : report.runs)
    if (run.unverified())
      text += fmt::format("       {} is unverified: it was never compared with a kernel\n",
                          run.policy->name);
  return text;
}

// Names the columns that made the same decisions, from the first request to the last.
std::string alike(const ReplayReport& report) {
  std::string text;
  const std::vector<Column> all = columns(report);
  std::vector<bool> listed(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string names;
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (listed[j] || all[j].run->decisions_hash != all[i].run->decisions_hash) continue;
      listed[j] = true;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", all[j].name);
    }
    if (!names.empty())
      text += fmt::format("same   {}, {}: every decision is the same\n", all[i].name, names);
  }
  return text;
}

// Describes where policies diverge from the first one.
std::string partings(const ReplayReport& report) {
  std::string text;
  for (const results::Outcome& run : report.runs) {
    if (!run.parting) continue;
    const results::Parting& p = *run.parting;
    if (p.decision == 0) {
      text += fmt::format("same   {}, {}: also every search of {} requests\n", p.from,
                          run.policy->name, format_count(p.requests));
      continue;
    }
    const auto or_nothing = [](const std::string& what) { return what.empty() ? "nothing" : what; };
    text += fmt::format(
        "diff   {} differs from {} at decision {}, after {} requests of {}\n"
        "         {}: {}\n         {}: {}\n",
        run.policy->name, p.from, p.decision, format_count(p.alike), format_count(p.requests),
        p.from, or_nothing(p.theirs), run.policy->name, or_nothing(p.made));
  }
  return text;
}

// Explains why policies are better or worse, in one paragraph for each.
std::string why(const ReplayReport& report) {
  constexpr std::size_t kIndent = 7, kWidth = 80;
  std::string text;
  for (const WhyText& one : why_texts(report)) {
    std::string lines = wrap(escape(one.policies + ": " + one.text), kWidth - kIndent);
    for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1)
      lines.insert(at, text.empty() && at == 0 ? "why    " : std::string(kIndent, ' '));
    text += lines;
  }
  return text;
}

// Returns the heads of the columns: the start image (which has figures for some rows only), the
// recorded kernel, each policy, and the change.
std::vector<std::string> head(const ReplayReport& report) {
  std::vector<std::string> cells = {"", "start"};
  for (const Column& column : columns(report)) cells.push_back(column.name);
  if (report.runs.size() == 2) cells.push_back(change_head(report));
  return cells;
}

std::vector<std::string> row_cells(const ReplayReport& report, const results::Row& row,
                                   const std::vector<results::Value>& values) {
  std::vector<std::string> cells = {row.label};
  cells.push_back(row.start ? results::text_of(row.of(report.start)) : "");
  for (const results::Value& value : values) cells.push_back(results::text_of(value));
  if (report.runs.size() == 2) cells.push_back(change_text(report, row, values));
  return cells;
}

void add_rows(const ReplayReport& report, const RowChoice& choice, TextTable& table) {
  const std::vector<Column> beside = columns(report);
  std::string section;
  for (const results::Row* row : choice.rows) {
    if (row->section != section) table.heading(section = row->section);
    table.row(row_cells(report, *row, values_of(*row, beside)));
  }
}

// Says how many rows the table leaves out.
std::string describe_left_out(const ReplayReport& report, const RowChoice& choice) {
  if (choice.left_out == 0) return {};
  return fmt::format("{} more rows{}: see them with --all\n", choice.left_out,
                     columns(report).size() > 1 ? " are the same in all columns" : "");
}

std::string size_kb(std::uint64_t kb) {
  return format_size(kb * 1024);
}

// Free extents by size, for the start image and each column: the number of extents and their share
// of the free blocks.
std::string histograms(const ReplayReport& report) {
  TextTable table;
  const std::uint64_t block_kb = report.superblock.block_size() / 1024;
  const std::vector<Column> columns = columns_with_start(report);
  std::vector<std::string> cells = {"free extent size"};
  for (const Column& column : columns) {
    cells.push_back(column.name);
    cells.emplace_back("blocks");
  }
  table.row(cells);
  table.rule();
  for (std::size_t bucket = 0; bucket < FreeExtents::kBuckets; ++bucket) {
    if (std::none_of(columns.begin(), columns.end(), [&](const Column& c) {
          return c.run->free.extents.buckets[bucket].extents != 0;
        }))
      continue;
    cells = {fmt::format("{} to {}", size_kb(bucket_kb(bucket, block_kb)),
                         size_kb(bucket_kb(bucket + 1, block_kb)))};
    for (const Column& column : columns) {
      const FreeExtents& free = column.run->free.extents;
      const FreeExtents::Bucket& b = free.buckets[bucket];
      cells.push_back(format_count(b.extents));
      cells.push_back(free.blocks == 0
                          ? "-"
                          : fmt::format("{:.2f} %", 100.0 * static_cast<double>(b.blocks) /
                                                        static_cast<double>(free.blocks)));
    }
    table.row(cells);
  }
  return table.text();
}

bool asks_a_kernel(const ReplayReport& report) {
  return std::ranges::any_of(report.runs,
                             [](const results::Outcome& run) { return !run.times.empty(); });
}

// Adds how long each run took. The time of a kernel includes its boot.
void add_speed(const ReplayReport& report, TextTable& table) {
  const auto row = [&](std::string label, auto text) {
    std::vector<std::string> cells = {std::move(label), ""};
    for (const Column& column : columns(report))
      cells.push_back(column.recorded ? "-" : text(*column.run));
    table.row(cells);
  };
  table.heading("");
  row("time, s", [](const results::Outcome& run) { return fmt::format("{:.3f}", run.elapsed_s); });
  if (!asks_a_kernel(report)) return;
  row("  until the first request",
      [](const results::Outcome& run) { return fmt::format("{:.3f}", run.ready_s); });
  row("  requests per second after that", [](const results::Outcome& run) {
    return format_count(static_cast<std::uint64_t>(run.requests_per_s()));
  });
}

}  // namespace

std::string replay_text(const ReplayReport& report, const TextOptions& options) {
  TextTable table;
  const RowChoice choice = choose_rows(report, options.all);
  table.row(head(report));
  table.rule();
  add_rows(report, choice, table);
  add_speed(report, table);
  std::string text = wrap(escape(headline(report))) + "\n" + header(report) + fidelity(report) +
                     luck_line(report) + describe_unverified(report) + alike(report) +
                     partings(report) + why(report) + "\n" + table.text() +
                     describe_left_out(report, choice) + wrap(past_last_text(report));
  if (asks_a_kernel(report))
    text +=
        "time of a decision: the kernel's code alone, in a guest with one CPU, without a disk, "
        "without other\nwriters and without locks that others hold.\n";
  if (report.fragmented) text += "\n" + fragmented_text(report);
  text += writers_text(report);
  if (options.histogram) text += fmt::format("\n{}", histograms(report));
  for (const results::Outcome& run : report.runs)
    if (!run.explanation.empty())
      text += fmt::format("\nunder {}, {}", run.policy->name, escape_lines(run.explanation));
  return text;
}

namespace {

void add_agreement(const replay::Agreement& a, TextTable& table) {
  for (const AgreementRow& row : agreement_rows(a))
    table.row(row.share ? std::vector<std::string>{row.label, format_count(row.count),
                                                   share_text(a, row.count)}
                        : std::vector<std::string>{row.label, format_count(row.count)});
}

std::string divergence(const replay::Agreement& a) {
  if (a.divergences.empty()) return {};
  const replay::Divergence& d = a.divergences.front();
  const std::string_view race = replay::race_text(d.race);
  return fmt::format(
      "first divergence: decision {} at event {}, {:.6f} s, pid {}, inode {}: {}\n"
      "  kernel {}\n  model  {}\n{}",
      format_count(d.decision), format_count(d.event), static_cast<double>(d.time_ns) / 1e9, d.pid,
      d.ino, d.fields, escape(d.recorded), escape(d.modelled),
      race.empty() ? "" : fmt::format("  a race: {}\n", race));
}

std::string kernel_files(const results::Outcome& run) {
  std::string text;
  for (const std::string& line : {groups_text(run), stats_text(run)})
    if (!line.empty()) text += line + "\n";
  if (run.kernel_stats) {
    for (const std::string& line : run.kernel_stats->differing) text += "  " + escape(line) + "\n";
    for (const std::string& line : run.kernel_stats->open) text += "  " + escape(line) + "\n";
  }
  return text;
}

}  // namespace

std::string verify_text(const ReplayReport& report) {
  std::string text = header(report) + whose_policy(report);
  for (const results::Outcome& run : report.runs) {
    TextTable table;
    text += fmt::format("\npolicy {}{}\n", run.policy->name,
                        run.agreement ? ", following the recorded kernel" : ", free-running");
    if (run.agreement) add_agreement(*run.agreement, table);
    if (run.free_run && run.agreement)
      table.row({"free-running, identical", format_count(run.free_run->identical),
                 share_text(*run.free_run, run.free_run->identical)});
    // Later differences follow from the first one, because a free run does not take over recorded
    // results.
    if (const auto* first =
            run.agreement && run.free_run ? run.free_run->first_divergence() : nullptr)
      table.row({"  diverges at decision", format_count(first->decision)});
    if (run.free_run && !run.agreement) add_agreement(*run.free_run, table);
    text += table.text() + kernel_files(run);
    text += divergence(run.agreement ? *run.agreement : *run.free_run);
    if (!run.explanation.empty()) text += "\n" + escape_lines(run.explanation);
  }
  return text;
}

}  // namespace e4r::report
