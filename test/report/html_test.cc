// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the HTML page: text from inputs is escaped, and the data for the script is correct.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "report/headline.h"
#include "report/page.h"
#include "report/replay_report.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

// Sets how many groups the run's searches considered and how many extents they scanned.
void set_steps(results::Outcome& run, std::uint64_t groups, std::uint64_t extents) {
  allocator::Counters counters;
  counters[mb::Criterion::cr0].groups_considered = groups;
  counters.extents_scanned = extents;
  run.searches = stats::known_counters(*run.policy, counters);
}

results::Outcome make_run(const char* policy) {
  results::Outcome run;
  run.policy = allocator::find_policy(policy);
  run.tally.requests = 100;
  set_steps(run, 100, 300);
  run.files.files = 10;
  run.files.extents = 20;
  run.free.extents.add(0, 64);
  run.free.space.groups = {{40, 2}, {24, 1}};
  run.layout.by_extents[0] = 4;
  run.layout.by_extents[3] = 6;
  run.costs.add(1, {10, 20});
  return run;
}

ReplayReport make_report(const std::vector<const char*>& policies) {
  ReplayReport report;
  report.superblock.block_bits = 12;
  report.superblock.blocks_count = 200;
  report.superblock.blocks_per_group = 100;
  report.superblock.groups = 2;
  report.start.free.extents.add(0, 128);
  report.start.free.space.groups = {{100, 1}, {28, 3}};
  for (const char* policy : policies) report.runs.push_back(make_run(policy));
  return report;
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Html, NamesStayText) {
  const std::string plain = replay_html(make_report({"legacy"}));
  ReplayReport report = make_report({"legacy"});
  report.trace_path = "</title></script><script>alert(1)</script>";
  report.image_path = "\"><img src=x onerror=alert(1)>&amp;";
  const std::string page = replay_html(report);
  for (const char* tag : {"<script", "</script", "<img", "</title", "</style"})
    EXPECT_EQ(count_of(page, tag), count_of(plain, tag)) << tag;
  EXPECT_NE(page.find("&lt;/script&gt;&lt;script&gt;alert(1)"), std::string::npos);
  EXPECT_NE(page.find("&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&amp;amp;"), std::string::npos);
}

TEST(Html, EscapesWhatMarksUp) {
  EXPECT_EQ(html_escape("a<b>&\"c"), "a&lt;b&gt;&amp;&quot;c");
}

// The data is inside a script element. Text in the data must not be able to end that element.
TEST(Html, DataIsJsonWithoutAnOpeningBracket) {
  const std::string data = html_data(make_report({"legacy", "cr1.5"}));
  EXPECT_EQ(data.find('<'), std::string::npos);
  const json::value parsed = json::parse(data);
  EXPECT_EQ(parsed.at("policies").as_array().size(), 2u);
}

TEST(Html, DataHoldsWhatIsDrawn) {
  const json::value data = json::parse(html_data(make_report({"legacy"})));
  EXPECT_EQ(data.at("map").at("free"), json::parse("[[100,28],[40,24]]"));
  EXPECT_EQ(data.at("map").at("runs"), json::parse("[[1,3],[2,1]]"));
  EXPECT_EQ(data.at("map").at("clusters").to_number<int>(), 200);
  EXPECT_EQ(data.at("files").at("labels"), json::parse(R"(["1","2","3 to 4","5 to 8"])"));
  EXPECT_EQ(data.at("files").at("files"), json::parse("[[4,0,0,6]]"));
  EXPECT_EQ(data.at("histogram").at("from_kb"), json::parse("[256,512]"));
  EXPECT_EQ(data.at("histogram").at("extents"), json::parse("[[0,1],[1,0]]"));
  EXPECT_EQ(data.at("cost").at(0).at("steps"), json::parse("[30]"));
  EXPECT_EQ(data.at("criteria").at("groups"), json::parse("[[100]]"));
}

// For each figure that the recorded kernel has, its value comes before the values of the policies.
// The kernel has no costs of single decisions, because a trace does not contain them.
TEST(Html, DataHoldsTheRecordedKernelFirst) {
  ReplayReport report = make_report({"legacy", "cr1.5"});
  EXPECT_FALSE(json::parse(html_data(report)).at("recorded").as_bool());
  results::Outcome run = make_run("legacy");
  run.searches = {};
  run.searches[mb::Criterion::cr0].groups_considered = 70;
  run.layout.by_extents[0] = 5;
  run.free.space.groups = {{30, 2}, {24, 1}};
  report.kernel = RecordedKernel{run, {}, {}};
  const json::value data = json::parse(html_data(report));
  EXPECT_TRUE(data.at("recorded").as_bool());
  EXPECT_EQ(data.at("policies").as_array().size(), 2u);
  EXPECT_EQ(data.at("criteria").at("groups"), json::parse("[[70],[100],[100]]"));
  EXPECT_EQ(data.at("criteria").at("extents").at(0), nullptr);
  EXPECT_EQ(data.at("files").at("files").at(0), json::parse("[5,0,0,6]"));
  EXPECT_EQ(data.at("map").at("free"), json::parse("[[100,28],[30,24],[40,24],[40,24]]"));
  EXPECT_EQ(data.at("map").at("history").as_array().size(), 3u);
  EXPECT_EQ(data.at("cost").as_array().size(), 2u);
  const std::string page = replay_html(report);
  EXPECT_EQ(count_of(page, "<dt style=\"--colour:var(--recorded)\">recorded</dt>"), 3u);
  EXPECT_NE(page.find("<th>recorded</th><th>legacy</th><th>cr1.5</th><th>against legacy</th>"),
            std::string::npos);
  EXPECT_EQ(headline(report), headline(make_report({"legacy", "cr1.5"})));
}

// A frame has only the cells that have changed since the previous frame, each with all of its
// numbers.
TEST(Html, FramesHoldTheCellsThatChange) {
  ReplayReport report = make_report({"legacy"});
  report.start.free.space.groups.assign(2 * kMostCells, {10, 1});
  report.runs[0].free.space.groups.assign(2 * kMostCells, {4, 2});
  stats::SpaceHistory& history = report.runs[0].history;
  EXPECT_EQ(json::parse(html_data(report)).at("map").at("history"), json::parse("[[]]"));
  history = stats::SpaceHistory(
      std::vector<stats::SpaceHistory::Frame>{{5, {{1, {4, 3}}, {2, {9, 2}}}}, {9, {{3, {1, 1}}}}});
  EXPECT_EQ(json::parse(html_data(report)).at("map").at("history"),
            json::parse(R"([[{"decision":5,"cells":[0,1],"free":[14,19],"runs":[4,3]},
                             {"decision":9,"cells":[1],"free":[10],"runs":[3]}]])"));
}

// If there are many groups, each cell combines several of them.
TEST(Html, TheMapHasNoMoreThanSoManyCells) {
  ReplayReport report = make_report({"legacy"});
  report.start.free.space.groups.assign(2 * kMostCells + 1, {3, 1});
  report.runs[0].free.space.groups.assign(2 * kMostCells + 1, {2, 1});
  const json::value map = json::parse(html_data(report)).at("map");
  EXPECT_EQ(map.at("per_cell").to_number<int>(), 3);
  const json::array& cells = map.at("free").at(0).as_array();
  EXPECT_LE(cells.size(), kMostCells);
  EXPECT_EQ(cells[0].to_number<int>(), 9);
  EXPECT_EQ(cells.back().to_number<std::size_t>(), 3 * ((2 * kMostCells + 1 - 1) % 3 + 1));
}

// Each slow decision has an explanation. A long explanation is shortened in the middle.
TEST(Html, SlowDecisionsAreExplained) {
  ReplayReport report = make_report({"legacy"});
  EXPECT_EQ(html_slowest(report).find("<pre>"), std::string::npos);
  std::string text;
  for (int i = 1; i <= 100; ++i) text += "line " + std::to_string(i) + " of <group>\n";
  report.runs[0].explained = {text};
  const std::string html = html_slowest(report);
  for (const char* there :
       {"line 1 of &lt;group&gt;", "line 40 ", "... 48 lines ...", "line 89 ", "line 100 of"})
    EXPECT_NE(html.find(there), std::string::npos) << there;
  EXPECT_EQ(html.find("line 41 "), std::string::npos);
  EXPECT_EQ(html.find("line 88 "), std::string::npos);
}

// Returns a report on a run of four decisions, compared with a kernel's decisions when following
// the trace and in a free-running replay. In the free-running replay, the second decision differs.
// At the end, one counter differs.
ReplayReport make_verified() {
  ReplayReport report = make_report({"legacy"});
  results::Outcome& run = report.runs[0];
  replay::Agreement same;
  for (std::uint64_t i = 1; i <= 4; ++i) same.course.at(i).join({1, 1});
  same.requests = same.identical = 4;
  run.agreement = same;
  same.identical = 3;
  same.course = {};
  for (std::uint64_t i = 1; i <= 4; ++i) same.course.at(i).join({1, i == 2 ? 0u : 1u});
  same.divergences.push_back({2, 9, 0, 1, 12, replay::Race::inodes, "block", "<kernel>", "&model"});
  run.free_run = same;
  run.kernel_stats = stats::MbStatsComparison{3, {"lost: <2>"}, {}, {}, {}};
  return report;
}

std::string headline_of(const ReplayReport& report) {
  const std::string page = verify_html(report);
  const std::string opening = "<p class=\"headline\">";
  const std::size_t from = page.find(opening) + opening.size();
  return page.substr(from, page.find("</p>", from) - from);
}

TEST(Html, VerifySaysWhatAnotherThreadDidMeanwhile) {
  ReplayReport report = make_verified();
  replay::Divergence& differs = report.runs[0].free_run->divergences[0];
  for (const replay::Race race : {replay::Race::inodes, replay::Race::allocator}) {
    differs.race = race;
    EXPECT_NE(verify_html(report).find(fmt::format("block ({})<br>", replay::race_text(race))),
              std::string::npos);
  }
  differs.race = replay::Race::none;
  EXPECT_NE(verify_html(report).find("block<br>"), std::string::npos);
}

TEST(Html, VerifySaysWhereModelAndKernelPart) {
  ReplayReport report = make_verified();
  results::Outcome& run = report.runs[0];
  EXPECT_EQ(headline_of(report),
            "Under legacy, 4 of 4 decisions (100.000 %) are the recorded kernel's; free-running, "
            "the model diverges from it at decision 2, in block.");
  run.free_run = run.agreement;
  EXPECT_EQ(
      headline_of(report),
      "Under legacy, 4 of 4 decisions (100.000 %) are the recorded kernel's, but its counters "
      "at the end are not.");
  run.kernel_stats.reset();
  EXPECT_EQ(headline_of(report),
            "Under legacy, all 4 decisions are the recorded kernel's, following it and "
            "free-running from start to end.");
  run.agreement.reset();
  EXPECT_EQ(
      headline_of(report),
      "Under legacy, all 4 decisions are the recorded kernel's, free-running from start to end.");
  run.agreement = make_verified().runs[0].free_run;
  EXPECT_EQ(headline_of(report),
            "Under legacy, 3 of 4 decisions (75.000 %) are the recorded kernel's; they diverge at "
            "decision 2, in block.");
}

TEST(Html, VerifyHoldsWhatIsDrawnAndNamesStayText) {
  const std::string page = verify_html(make_verified());
  EXPECT_NE(page.find("&lt;kernel&gt;"), std::string::npos);
  EXPECT_NE(page.find("&amp;model"), std::string::npos);
  EXPECT_NE(page.find("<li>lost: &lt;2&gt;</li>"), std::string::npos);
  EXPECT_NE(page.find("\"requests\":[1,1,1,1],\"identical\":[1,0,1,1]"), std::string::npos);
}

TEST(Html, VerifySaysWhatOfTheMountIsNotModelled) {
  ReplayReport report = make_verified();
  EXPECT_EQ(verify_html(report).find("Not modelled"), std::string::npos);
  EXPECT_EQ(verify_text(report).find("       not modelled"), std::string::npos);
  report.not_modelled = {{"discard", "mounted with <discard>"}};
  EXPECT_NE(verify_html(report).find("Not modelled: mounted with &lt;discard&gt;"),
            std::string::npos);
  EXPECT_NE(verify_text(report).find("       not modelled: mounted with <discard>\n"),
            std::string::npos);
}

TEST(Shares, OfLessThanAllAreNotRoundedUpToAll) {
  replay::Agreement agreement;
  EXPECT_EQ(share_text(agreement, 0), "-");
  agreement.requests = 907'465;
  EXPECT_EQ(share_text(agreement, agreement.requests - 3), "99.999 %");
  EXPECT_EQ(share_text(agreement, agreement.requests), "100.000 %");
  EXPECT_EQ(share_text(agreement, 453'733), "50.000 %");
}

TEST(Html, ARunOfNothingIsAPage) {
  ReplayReport report;
  report.superblock.block_bits = 10;
  report.superblock.blocks_per_group = 8192;
  report.runs.resize(1);
  report.runs[0].policy = allocator::find_policy("legacy");
  EXPECT_EQ(count_of(replay_html(report), "</html>"), 1u);
}

TEST(Headline, SaysHowFiguresDiffer) {
  ReplayReport report = make_report({"legacy", "cr1.5"});
  EXPECT_EQ(headline(report),
            "Under cr1.5, against legacy, searches take as many steps, files lie in as many "
            "extents and free extents are as long.");
  set_steps(report.runs[1], 100, 100);
  report.runs[1].files.extents = 25;
  report.runs[1].free.extents = {};
  report.runs[1].free.extents.add(0, 640);
  EXPECT_EQ(headline(report),
            "Under cr1.5, against legacy, searches take 50.0\u00a0% fewer steps, files lie in "
            "25.0\u00a0% more extents and free extents are 10.0\u00a0times as long.");
}

TEST(Headline, SaysOnceWhatIsTheSameOfSeveral) {
  ReplayReport report = make_report({"legacy", "cr1.5", "linear", "linux-7.3"});
  report.runs[2].files.extents = 10;
  EXPECT_EQ(headline(report),
            "Under cr1.5 and linux-7.3, against legacy, searches take as many steps, files lie in "
            "as many extents and free extents are as long. Under linear, against legacy, searches "
            "take as many steps, files lie in 50.0\u00a0% fewer extents and free extents are as "
            "long.");
}

TEST(Headline, LeavesOutWhatThereIsNot) {
  ReplayReport report = make_report({"legacy", "cr1.5"});
  report.runs[1].files = {};
  report.runs[0].searches = {};
  EXPECT_EQ(headline(report), "Under cr1.5, against legacy, free extents are as long.");
}

TEST(Headline, OfOnePolicySaysWhatItDid) {
  EXPECT_EQ(headline(make_report({"legacy"})),
            "Under legacy, a request takes 4.00 steps on average, a file lies in 2.00 extents, and "
            "a free extent is 256 KB long (512 KB at the start).");
}

}  // namespace
}  // namespace e4r::report
