// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "report/json_parts.h"
#include "report/replay_report.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

ReplayReport followed_report() {
  ReplayReport report;
  report.superblock.block_bits = 12;
  report.runs.resize(1);
  report.runs[0].policy = allocator::find_policy("legacy");
  report.recorded.emplace();
  report.recorded->requests = 10;
  report.recorded->identical = 10;
  return report;
}

TEST(ReplayJson, NamesTheMountOptionsThatAreNotModelled) {
  ReplayReport report = followed_report();
  EXPECT_EQ(json::parse(replay_json(report)).at("not_modelled"), json::array());
  report.not_modelled = {{"discard", "mounted with discard: freed late"}};
  const json::array discard = {"discard"};
  EXPECT_EQ(json::parse(replay_json(report)).at("not_modelled"), discard);
  report.runs[0].agreement.emplace();  // makes it a report of verify
  EXPECT_EQ(json::parse(replay_json(report)).at("not_modelled"), discard);
}

TEST(ReplayJson, CountsGroupsPassedOver) {
  ReplayReport report = followed_report();
  report.recorded->skips = 2;
  EXPECT_EQ(json::parse(replay_json(report)).at("recorded").at("skips"), 2);
  report.runs[0].agreement.emplace().skips = 3;
  report.runs[0].free_run.emplace().skips = 4;
  const json::value verified = json::parse(replay_json(report)).at("runs").at(0).at("agreement");
  EXPECT_EQ(verified.at("skips"), 3);
  EXPECT_EQ(verified.at("free_run").at("skips"), 4);
}

// Returns a report with a column of the recorded kernel, in which three counters of searches are
// known.
ReplayReport with_kernel() {
  ReplayReport report = followed_report();
  results::Outcome run;
  run.policy = report.runs[0].policy;
  run.tally.requests = 10;
  run.files.files = 4;
  run.files.extents = 6;
  run.searches.requests = 10;
  run.searches[mb::Criterion::cr0].hits = 3;
  run.searches.extents_scanned = 20;
  report.kernel = RecordedKernel{run, {}, "mb_stats was not recorded"};
  return report;
}

TEST(ReplayJson, TheRecordedKernelHasTheKeysOfARun) {
  const ReplayReport report = with_kernel();
  const json::value document = json::parse(replay_json(report));
  const json::value& recorded = document.at("recorded");
  EXPECT_EQ(recorded.at("absent"), nullptr);
  EXPECT_EQ(recorded.at("searches_from"), "trace");
  EXPECT_EQ(recorded.at("requests"), 10);
  EXPECT_EQ(recorded.at("files").at("extents"), 6);
  EXPECT_EQ(recorded.at("mb_stats").at("cr0_stats").at("hits"), 3);
  EXPECT_FALSE(recorded.at("mb_stats").as_object().contains("goal_hits"));
  EXPECT_FALSE(recorded.as_object().contains("groups_considered"));
  EXPECT_TRUE(recorded.as_object().contains("free_extents"));
  ReplayReport by_stats = report;
  by_stats.kernel->why_not.clear();
  EXPECT_EQ(json::parse(replay_json(by_stats)).at("recorded").at("searches_from"), "mb_stats");
}

// Returns a run with a different figure in every row that can have one.
results::Outcome full_run(std::uint64_t seed) {
  results::Outcome run;
  run.policy = allocator::find_policy("linux-7.3");
  allocator::Counters counters;
  for (allocator::Counters::PerCriterion& of : counters.by_criterion)
    of = {seed++, seed++, seed++, seed++, seed++};
  counters.requests = seed++;
  counters.breaks = seed++;
  run.searches = stats::known_counters(counters);
  run.tally = {.requests = seed++, .failed = seed++};
  run.free.extents.add(0, 8 + seed % 16);
  run.free.extents.add(100, 3);
  run.files = {.files = 4, .extents = seed++, .blocks = 4000, .most_extents = 3, .one_extent = 2};
  run.layout = {.files = 4, .successors = 90, .following = 80, .distance = seed++, .median = 0.5};
  run.discards = {.issued = seed++, .blocks = 400};
  run.free.space.chunks.count = {seed++, 5, 6};
  return run;
}

void expect_all_rows(const json::value& document, const results::Outcome& run) {
  std::size_t known = 0;
  for (const results::Row& row : results::rows()) {
    const results::Value value = row.of(run);
    const json::value* const found = find_at(document.as_object(), row.key);
    if (std::holds_alternative<std::monostate>(value)) {
      EXPECT_EQ(found, nullptr) << row.key;
      continue;
    }
    ++known;
    ASSERT_NE(found, nullptr) << row.key << " is not in the document";
    EXPECT_DOUBLE_EQ(found->to_number<double>(), *results::number_of(value)) << row.key;
  }
  EXPECT_GT(known, 60u);
}

// Every row must have a member of its own in the document. No other member may replace it.
TEST(ReplayJson, HasEveryRowOfTheText) {
  ReplayReport report = followed_report();
  report.start.free.extents.add(0, 5);
  report.start.free.extents.add(50, 70);
  report.kernel = RecordedKernel{full_run(1000), {}, {}};
  report.runs = {full_run(2000), full_run(3000)};
  for (const bool verified : {false, true}) {
    if (verified) report.runs[0].agreement.emplace();
    const json::value document = json::parse(replay_json(report));
    expect_all_rows(document.at("recorded"), *report.kernel->run);
    for (std::size_t i = 0; i < 2; ++i) expect_all_rows(document.at("runs").at(i), report.runs[i]);
    for (const results::Row& row : results::rows()) {
      if (!row.start) continue;
      const json::value* const found = find_at(document.at("image").as_object(), row.key);
      const auto value = results::number_of(row.of(report.start));
      ASSERT_EQ(found != nullptr, value.has_value()) << row.key;
      EXPECT_DOUBLE_EQ(!found ? 0 : found->to_number<double>(), value.value_or(0)) << row.key;
    }
    const json::value histogram = document.at("runs").at(0).at("free_extents").at("histogram");
    EXPECT_FALSE(histogram.as_array().empty());
  }
}

// A key is a path in the document, so no key may be below another key.
TEST(ReplayJson, NoRowLiesWithinAnother) {
  for (const results::Row& a : results::rows())
    for (const results::Row& b : results::rows())
      EXPECT_FALSE(b.key.starts_with(a.key + "/")) << a.key << " " << b.key;
}

TEST(ReplayJson, HasEveryRowOfAnAgreement) {
  ReplayReport report = followed_report();
  replay::Agreement& a = report.runs[0].agreement.emplace();
  a.requests = 1000;
  std::uint64_t count = 10;
  for (auto member :
       {&replay::Agreement::identical, &replay::Agreement::same_block,
        &replay::Agreement::same_length, &replay::Agreement::same_criterion,
        &replay::Agreement::same_found, &replay::Agreement::same_groups_scanned,
        &replay::Agreement::last_divergence, &replay::Agreement::races, &replay::Agreement::skips,
        &replay::Agreement::late, &replay::Agreement::forced, &replay::Agreement::conflicts})
    a.*member = count++;
  const json::value verified = json::parse(replay_json(report)).at("runs").at(0).at("agreement");
  const std::vector<AgreementRow> rows = agreement_rows(a);
  EXPECT_EQ(rows.size(), 13u);
  for (const AgreementRow& row : rows)
    EXPECT_EQ(verified.at(row.key).to_number<std::uint64_t>(), row.count) << row.label;
}

FragmentedFiles three_files() {
  const std::vector<std::vector<stats::FilePieces>> columns = {
      {{12, 3, 30}, {13, 9, 90}, {15, 1, 1}}, {{12, 20, 30}, {14, 2, 8}, {15, 1, 1}}};
  return most_fragmented(columns, 3);
}

TEST(FragmentedFiles, AreTheWorstOfAnyColumn) {
  const FragmentedFiles all = three_files();
  EXPECT_EQ(all.all, 4u);
  ASSERT_EQ(all.files.size(), 3u);
  const auto shown = [&](std::size_t i) {
    return fmt::format("{}: {} {}", all.files[i].ino, all.files[i].columns[0].extents,
                       all.files[i].columns[1].extents);
  };
  EXPECT_EQ(shown(0), "12: 3 20");
  EXPECT_EQ(shown(1), "13: 9 0");
  EXPECT_EQ(shown(2), "14: 0 2");
}

TEST(FragmentedFiles, AreInTextDocumentAndPage) {
  ReplayReport report = with_kernel();
  EXPECT_EQ(fragmented_text(report), "");
  report.fragmented = three_files();
  report.fragmented->has_paths = true;
  report.fragmented->files[0].path = "/a\x1b[2Jb";
  report.fragmented->files[1].is_new = true;
  const std::string text = replay_text(report);
  EXPECT_NE(text.find("inode 12  /a\\x1b[2Jb"), std::string::npos) << text;
  EXPECT_NE(text.find("inode 13  (new)"), std::string::npos) << text;
  const json::value files = json::parse(replay_json(report)).at("fragmented_files");
  EXPECT_EQ(files.at(0).at("inode"), 12);
  EXPECT_EQ(files.at(0).at("recorded").at("extents"), 3);
  EXPECT_EQ(files.at(0).at("runs").at(0).at("extents"), 20);
  EXPECT_EQ(files.at(1).at("path"), nullptr);
  EXPECT_EQ(files.at(1).at("new"), true);
  const std::string page = fragmented_html(report);
  EXPECT_NE(page.find("<td>12</td><td>30</td><td>3</td><td>20</td>"), std::string::npos) << page;
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
}

TEST(ReplayJson, SaysWhyTheRecordedKernelIsAbsent) {
  ReplayReport report = followed_report();
  report.kernel = RecordedKernel{{}, "the trace closes no decision", {}};
  const json::value recorded = json::parse(replay_json(report)).at("recorded");
  EXPECT_EQ(recorded.at("absent"), "the trace closes no decision");
  EXPECT_FALSE(recorded.as_object().contains("files"));
  EXPECT_FALSE(recorded.as_object().contains("searches_from"));
}

TEST(Writers, ThePaceIsSaid) {
  using contention::Pace;
  EXPECT_EQ(pace_text(Pace{}), "for as long as the recorded one did");
  EXPECT_EQ(pace_text(Pace{std::nullopt, 0.1}), "for 0.1 times as long as the recorded one did");
  EXPECT_EQ(pace_text(Pace{80'000, 1}), "for 80 µs on average");
  EXPECT_EQ(pace_text(Pace{1'500'000, 1}), "for 1.5 ms on average");
  EXPECT_EQ(pace_text(Pace{999, 1}), "for 999 ns on average");
  EXPECT_EQ(pace_text(Pace{0, 1}), "for no time");
}

TEST(Columns, BeginWithTheRecordedKernel) {
  ReplayReport report = with_kernel();
  EXPECT_EQ(first_policy(report), 1u);
  ASSERT_EQ(columns(report).size(), 2u);
  EXPECT_EQ(columns(report)[0].name, "recorded");
  EXPECT_TRUE(columns(report)[0].recorded);
  EXPECT_EQ(columns(report)[1].name, "legacy");
  report.kernel->run.reset();
  EXPECT_EQ(first_policy(report), 0u);
  EXPECT_EQ(columns(report).size(), 1u);
}

// The recorded kernel has a column of its own. Changes still compare the other policies with the
// first policy.
TEST(Columns, ChangesAreAgainstTheFirstPolicy) {
  ReplayReport report = with_kernel();
  report.runs.push_back(report.runs[0]);
  report.runs[1].policy = allocator::find_policy("cr1.5");
  report.runs[0].files = {4, 100, 0, 0, 0};
  report.runs[1].files = {4, 150, 0, 0, 0};
  const std::string text = replay_text(report);
  EXPECT_NE(text.find("recorded  legacy  cr1.5  against legacy\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" 6     100    150         +50.0 %\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace e4r::report
