// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/metrics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/policy.h"
#include "results/rows.h"

namespace e4r::watch {
namespace {

Column column(const std::string& name, std::string_view policy, std::uint64_t requests) {
  Column out;
  out.name = name;
  out.policy = allocator::find_policy(policy);
  results::Outcome outcome;
  outcome.policy = out.policy;
  outcome.tally.requests = requests;
  outcome.tally.allocated_blocks = 2 * requests;
  for (stats::KnownCounters::PerCriterion& one : outcome.searches.by_criterion) {
    one.hits = requests / 2;
    one.groups_considered = 3 * requests;
  }
  outcome.searches.extents_scanned = 5 * requests;
  outcome.free.extents.add(0, 10 + requests);
  outcome.files = {.files = 4, .extents = 8, .blocks = 9, .most_extents = 3, .one_extent = 1};
  outcome.layout.following = 1;
  outcome.layout.successors = 4;
  for (auto& window : out.windows) window = outcome;
  for (std::uint64_t i = 0; i < requests; ++i) out.groups.add(3);
  return out;
}

// Returns the report of a watch that has followed `requests` requests since its last start image
// and agreed with all of them.
Report report(unsigned starts, std::uint64_t requests, const std::vector<Column>& columns) {
  Report out;
  out.device_name = "sda1";
  out.mount_point = "/data";
  out.kernel = "7.3.0";
  out.follows = true;
  out.starts = starts;
  out.events = 6 * requests;
  auto picture = std::make_shared<Picture>();
  picture->decisions = requests;
  picture->identical = requests;
  picture->columns = columns;
  out.picture = std::move(picture);
  return out;
}
Report report(unsigned starts, std::uint64_t requests) {
  return report(starts, requests,
                {column("recorded", "linux-7.3", requests), column("legacy", "legacy", requests)});
}

// Returns the samples of a text: "name{labels}" and their values.
std::map<std::string, double> samples_of(const std::string& text) {
  std::map<std::string, double> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const auto blank = line.find_last_of(' ');
    EXPECT_TRUE(out.emplace(line.substr(0, blank), std::stod(line.substr(blank + 1))).second)
        << line << " is there twice";
  }
  return out;
}

std::map<std::string, double> shown(const Metrics& metrics) {
  return samples_of(exposition(metrics.families(), Exposition::prometheus));
}

constexpr const char* kRecorded = R"({device="sda1",mountpoint="/data",allocator="recorded"})";

double of(const Metrics& metrics, const std::string& name, const std::string& labels = kRecorded) {
  const auto all = shown(metrics);
  const auto found = all.find(name + labels);
  return found == all.end() ? -1 : found->second;
}

TEST(Metrics, HaveTheFiguresInBaseUnits) {
  Metrics metrics("1.2.3");
  EXPECT_TRUE(metrics.families().empty());
  metrics.add(report(1, 10));
  EXPECT_EQ(of(metrics, "e4replay_requests_total"), 10);
  EXPECT_EQ(of(metrics, "e4replay_allocated_bytes_total"),
            20 * results::Outcome().geometry.block_size());
  EXPECT_EQ(of(metrics, "e4replay_extents_scanned_total"), 50);
  EXPECT_EQ(of(metrics, "e4replay_free_extent_max_bytes"),
            20 * results::Outcome().geometry.block_size());
  EXPECT_EQ(of(metrics, "e4replay_layout_score_ratio"), 0.25);
  EXPECT_EQ(of(metrics, "e4replay_file_extents"), 8);
  EXPECT_EQ(of(metrics, "e4replay_searches_total",
               R"({device="sda1",mountpoint="/data",allocator="legacy",criterion="cr1"})"),
            5);
  EXPECT_EQ(of(metrics, "e4replay_watch_info",
               R"({device="sda1",mountpoint="/data",kernel="7.3.0",version="1.2.3"})"),
            1);
}

TEST(Metrics, CountersNeverGoDown) {
  Metrics metrics("1");
  std::map<std::string, double> before;
  // There were two start images, and the watch tried twice to follow from the first. It has no
  // figures yet since the new start image.
  Report none = report(2, 0);
  none.picture = nullptr;
  none.follows = false;
  for (const Report& next : {report(1, 10), report(1, 40), report(1, 15), report(1, 45), none,
                             report(2, 5), report(2, 7), report(3, 1)}) {
    metrics.add(next);
    const auto now = shown(metrics);
    for (const auto& [name, value] : before) {
      const std::string family = name.substr(0, name.find('{'));
      if (!family.ends_with("_total") && family.find("request_groups") == std::string::npos)
        continue;
      ASSERT_TRUE(now.contains(name)) << name;
      EXPECT_GE(now.at(name), value) << name;
    }
    before = now;
  }
  EXPECT_EQ(of(metrics, "e4replay_requests_total"), 45 + 7 + 1);
  EXPECT_EQ(of(metrics, "e4replay_request_groups_count"), 45 + 7 + 1);
  EXPECT_EQ(of(metrics, "e4replay_request_groups_sum"), 3 * (45 + 7 + 1));
  constexpr const char* kWatch = R"({device="sda1",mountpoint="/data"})";
  EXPECT_EQ(of(metrics, "e4replay_decisions_total", kWatch), 45 + 7 + 1);
  EXPECT_EQ(of(metrics, "e4replay_identical_decisions_total", kWatch), 45 + 7 + 1);
  EXPECT_EQ(of(metrics, "e4replay_events_total", kWatch), 6 * (45 + 7 + 1));
}

TEST(Metrics, OfAShadowThatWasDroppedKeepItsCounters) {
  Metrics metrics("1");
  metrics.add(report(1, 10));
  Report dropped = report(1, 20, {column("recorded", "linux-7.3", 20)});
  dropped.shadows_dropped = 1;
  metrics.add(dropped);
  constexpr const char* kShadow = R"({device="sda1",mountpoint="/data",allocator="legacy"})";
  EXPECT_EQ(of(metrics, "e4replay_requests_total", kShadow), 10);
  EXPECT_EQ(of(metrics, "e4replay_free_extents", kShadow), -1);
  EXPECT_EQ(of(metrics, "e4replay_free_extents"), 1);
  EXPECT_EQ(of(metrics, "e4replay_shadows_dropped_total", R"({device="sda1",mountpoint="/data"})"),
            1);
}

TEST(Metrics, OfAPolicyThatWasGivenTwiceAreThereOnce) {
  Metrics metrics("1");
  metrics.add(report(1, 4,
                     {column("recorded", "linux-7.3", 4), column("legacy", "legacy", 4),
                      column("legacy", "legacy", 4)}));
  EXPECT_EQ(shown(metrics).size(), [] {
    Metrics once("1");
    once.add(report(1, 4));
    return shown(once).size();
  }());
}

TEST(Metrics, SayHowTheWatchIs) {
  Metrics metrics("1");
  Report one = report(4, 10);
  one.behind_s = 0.25;
  one.lost = 7;
  one.backlog_bytes = 4096;
  one.frozen_total_s = 1.5;
  one.anew[static_cast<std::size_t>(Anew::groups_differ)] = 3;
  one.keeps = Report::Keeps{.held = {}, .files = 2, .last_file = {}};
  metrics.add(one);
  constexpr const char* kWatch = R"({device="sda1",mountpoint="/data"})";
  EXPECT_EQ(of(metrics, "e4replay_following", kWatch), 1);
  EXPECT_EQ(of(metrics, "e4replay_delay_seconds", kWatch), 0.25);
  EXPECT_EQ(of(metrics, "e4replay_lost_events_total", kWatch), 7);
  EXPECT_EQ(of(metrics, "e4replay_backlog_bytes", kWatch), 4096);
  EXPECT_EQ(of(metrics, "e4replay_freeze_wait_seconds_total", kWatch), 1.5);
  EXPECT_EQ(of(metrics, "e4replay_captures_total", kWatch), 2);
  for (const auto& [reason, name] : kAnew)
    EXPECT_EQ(of(metrics, "e4replay_new_start_images_total",
                 fmt::format(R"({{device="sda1",mountpoint="/data",reason="{}"}})", name)),
              reason == Anew::groups_differ ? 3 : 0);
  one.is_over = true;
  metrics.add(one);
  EXPECT_EQ(of(metrics, "e4replay_following", kWatch), 0);
}

// The buckets of a histogram are cumulative, and the last one has the total.
TEST(Metrics, HaveAHistogramOfGroups) {
  using Groups = GroupHistogram;
  EXPECT_EQ(Groups::bucket_of(0), 0u);
  for (std::size_t i = 1; i + 1 < Groups::kBuckets; ++i) {
    EXPECT_EQ(Groups::bucket_of(Groups::bound(i)), i);
    EXPECT_EQ(Groups::bucket_of(Groups::bound(i) + 1), i + 1);
  }
  EXPECT_EQ(Groups::bucket_of(UINT64_MAX), Groups::kBuckets - 1);
  Column one = column("recorded", "linux-7.3", 0);
  for (const std::uint64_t groups : {0, 0, 1, 2, 9, 1'000'000}) one.groups.add(groups);
  Metrics metrics("1");
  metrics.add(report(1, 6, {one}));
  const auto bucket = [&](const char* bound) {
    return of(
        metrics, "e4replay_request_groups_bucket",
        fmt::format(R"({{device="sda1",mountpoint="/data",allocator="recorded",le="{}"}})", bound));
  };
  EXPECT_EQ(bucket("0.0"), 2);
  EXPECT_EQ(bucket("1.0"), 3);
  EXPECT_EQ(bucket("2.0"), 4);
  EXPECT_EQ(bucket("8.0"), 4);
  EXPECT_EQ(bucket("16.0"), 5);
  EXPECT_EQ(bucket("65536.0"), 5);
  EXPECT_EQ(bucket("+Inf"), 6);
  EXPECT_EQ(of(metrics, "e4replay_request_groups_count"), 6);
  EXPECT_EQ(of(metrics, "e4replay_request_groups_sum"), 1'000'012);
}

// The samples of a family must be together, with one HELP and one TYPE line before them. Each name
// must follow Prometheus's rules.
TEST(Metrics, AreInOnePieceEach) {
  Metrics metrics("1");
  metrics.add(report(1, 10));
  std::set<std::string> seen;
  for (const MetricFamily& family : metrics.families()) {
    EXPECT_TRUE(seen.insert(family.name).second) << family.name;
    EXPECT_TRUE(family.name.starts_with("e4replay_"));
    EXPECT_EQ(family.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"),
              std::string::npos)
        << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_TRUE(family.unit.empty() || family.name.ends_with(fmt::format("_{}", family.unit)))
        << family.name;
    for (const std::string_view reserved : {"_total", "_count", "_sum", "_bucket", "_info"})
      EXPECT_FALSE(family.name.ends_with(reserved)) << family.name;
  }
  for (const Exposition format : {Exposition::prometheus, Exposition::openmetrics}) {
    std::istringstream lines(exposition(metrics.families(), format));
    std::string family;
    std::set<std::string> done;
    for (std::string line; std::getline(lines, line);) {
      if (line == "# EOF") continue;
      std::istringstream words(line);
      std::string hash, kind, name;
      words >> hash >> kind >> name;
      if (hash != "#") {
        EXPECT_TRUE(line.starts_with(family)) << line << " below " << family;
      } else if (kind == "HELP") {
        family = name;
        EXPECT_TRUE(done.insert(name).second) << name;
      } else {
        EXPECT_EQ(name, family);
      }
    }
  }
}

// The metrics must be exactly the rows of the table that are for metrics.
TEST(Metrics, HaveEachRowOfTheTable) {
  Metrics metrics("1");
  metrics.add(report(1, 10));
  const auto families = metrics.families();
  for (const results::Row& row : results::rows(results::Reporter::metrics)) {
    const auto found = std::ranges::find(families, metric_name(row), &MetricFamily::name);
    ASSERT_NE(found, families.end()) << row.key;
    EXPECT_EQ(found->help, row.label);
    EXPECT_EQ(found->type, row.counted ? MetricType::counter : MetricType::gauge);
  }
}

TEST(Exposition, EscapesWhatLabelsMayHave) {
  const std::vector<MetricFamily> families = {
      {.name = "a",
       .type = MetricType::gauge,
       .help = "a \"b\" \\ c\nd",
       .samples = {{{{"x", "q\"q\\q\nq\xff\xc3\xa4"}}, 1.5}, {{}, 1e300}, {{}, -2}}}};
  EXPECT_EQ(exposition(families, Exposition::prometheus),
            "# HELP a a \"b\" \\\\ c\\nd\n# TYPE a gauge\n"
            "a{x=\"q\\\"q\\\\q\\nq\\\\xff\xc3\xa4\"} 1.5\na 1e+300\na -2\n");
  EXPECT_EQ(exposition(families, Exposition::openmetrics),
            "# HELP a a \\\"b\\\" \\\\ c\\nd\n# TYPE a gauge\n"
            "a{x=\"q\\\"q\\\\q\\nq\\\\xff\xc3\xa4\"} 1.5\na 1e+300\na -2\n# EOF\n");
}

TEST(Exposition, NamesFamiliesAsEachFormatDoes) {
  const std::vector<MetricFamily> families = {
      {.name = "a_seconds",
       .type = MetricType::counter,
       .unit = "seconds",
       .help = "h",
       .samples = {{{}, 3}}},
      {.name = "b", .type = MetricType::info, .help = "i", .samples = {{{}, 1}}},
      {.name = "empty", .help = "j", .samples = {}}};
  EXPECT_EQ(exposition(families, Exposition::prometheus),
            "# HELP a_seconds_total h\n# TYPE a_seconds_total counter\na_seconds_total 3\n"
            "# HELP b_info i\n# TYPE b_info gauge\nb_info 1\n");
  EXPECT_EQ(exposition(families, Exposition::openmetrics),
            "# HELP a_seconds h\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n"
            "a_seconds_total 3\n# HELP b i\n# TYPE b info\nb_info 1\n# EOF\n");
}

TEST(Exposition, IsWhatTheClientAccepts) {
  for (const std::string_view accept :
       {"application/openmetrics-text",
        "text/plain;q=0.5, Application/OpenMetrics-Text;version=1.0.0",
        "application/openmetrics-text; version=1.0.0; q=0.75 ,*/*;q=0.1"})
    EXPECT_EQ(exposition_for(accept), Exposition::openmetrics) << accept;
  for (const std::string_view accept :
       {"", "text/plain", "*/*", "application/openmetrics-text;q=0", "a,,;,",
        "application/openmetrics-text;q=0.000;version=1.0.0", "application/openmetrics-texts"})
    EXPECT_EQ(exposition_for(accept), Exposition::prometheus) << accept;
}

}  // namespace
}  // namespace e4r::watch
