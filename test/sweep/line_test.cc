// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sweep/lines.h"
#include "sweep/ranking.h"
#include "util/bytes.h"

namespace e4r::sweep {
namespace {

results::Value figure_of(std::string_view line, std::string_view key) {
  Figures figures = {figures_of(line)};
  return figure(figures, 0, *results::find_row(key));
}

TEST(Line, BeginsWithThePointAndEndsWithASum) {
  const Plan plan = small_plan();
  const std::string line = made_line(plan, 1);
  EXPECT_TRUE(
      line.starts_with("{\"schema\":\"e4replay-sweep-point/"
                       "1\",\"point\":2,\"capture\":\"a.e4c\",\"policy\":\"cr1.5\","
                       "\"tunables\":{\"mb_cr1_5_max_trim_order\":3},\"requests\":101,"))
      << line;
  EXPECT_EQ(line.find("\",\"crc\""), std::string::npos);
  EXPECT_EQ(line.substr(line.size() - 18, 8), ",\"crc\":\"");
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(made_line(plan, 0).find("\"tunables\":{},"), std::string::npos) << "it has none";
}

TEST(Line, SaysWhichPointItIs) {
  const Plan plan = small_plan();
  for (std::size_t i = 0; i < plan.points.size(); ++i)
    EXPECT_EQ(point_of(plan, made_line(plan, i)), i);
}

// Returns a line in the older format, which had no name: removes the name, and computes the
// checksum of the rest.
std::string unnamed(const std::string& line) {
  const std::size_t name = line.find("\"point\"");
  const std::string body = "{" + line.substr(name, line.rfind(",\"crc\"") - name);
  return fmt::format("{},\"crc\":\"{:08x}\"}}", body, checksum(body));
}

TEST(Line, OfAnEarlierVersionItIsReadAndGetsItsName) {
  const Plan plan = small_plan();
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const std::string line = made_line(plan, i), before = unnamed(line);
    EXPECT_EQ(before.substr(0, 9), "{\"point\":");
    EXPECT_EQ(point_of(plan, before), i);
    EXPECT_EQ(with_schema(before), line);
    EXPECT_EQ(with_schema(line), line);
    Finished found;
    take_lines(fmt::format("{}\n{}\n", before, line), plan, all_of(plan), found);
    EXPECT_EQ(found.lines[i], line);
    EXPECT_EQ(found.damaged, 0u);
  }
  std::string damaged = unnamed(made_line(plan, 1));
  damaged[10] ^= 1;
  EXPECT_FALSE(point_of(plan, damaged));
}

TEST(Line, FiguresComeBack) {
  const Plan plan = small_plan();
  const std::string line = made_line(plan, 4, 12345);
  EXPECT_EQ(figure_of(line, "requests"), results::Value(std::uint64_t{104}));
  EXPECT_EQ(figure_of(line, "mb_stats/extents_scanned"), results::Value(std::uint64_t{12345}));
  EXPECT_EQ(figure_of(line, "mb_stats/groups_scanned"), results::Value());
  ASSERT_TRUE(std::holds_alternative<double>(figure_of(line, "files/avg_extents")));
  EXPECT_NEAR(std::get<double>(figure_of(line, "files/avg_extents")), 4.0 / 3, 1e-15);
}

TEST(Line, TornAnywhereItIsNoPoint) {
  const Plan plan = small_plan();
  const std::string line = made_line(plan, 3);
  for (std::size_t length = 0; length < line.size(); ++length) {
    EXPECT_FALSE(point_of(plan, line.substr(0, length))) << length;
    EXPECT_FALSE(point_of(plan, line.substr(line.size() - length))) << length;
  }
}

TEST(Line, DamagedAnywhereItIsNoPoint) {
  const Plan plan = small_plan();
  const std::string line = made_line(plan, 3);
  for (std::size_t at = 0; at < line.size(); ++at)
    for (const int bit : {1, 2, 16, 64}) {
      std::string damaged = line;
      damaged[at] = static_cast<char>(damaged[at] ^ bit);
      EXPECT_FALSE(point_of(plan, damaged)) << at;
    }
}

TEST(Line, OfAnotherPlanItIsNoPoint) {
  const Plan plan = small_plan();
  PlanSpec other = plan.spec;
  other.axes = {*parse_axis("mb_cr1_5_max_trim_order=3,4")};
  const Plan changed = *make_plan(std::move(other));
  EXPECT_TRUE(point_of(changed, made_line(plan, 1)));
  EXPECT_FALSE(point_of(changed, made_line(plan, 2))) << "trims by 5 in one, by 4 in the other";
  PlanSpec fewer = plan.spec;
  fewer.captures = {"a.e4c"};
  EXPECT_FALSE(point_of(*make_plan(std::move(fewer)), made_line(plan, 3))) << "there are three";
}

TEST(Lines, TornAndDamagedOnesAreCounted) {
  const Plan plan = small_plan();
  const std::string a = made_line(plan, 0), b = made_line(plan, 4);
  for (std::size_t length = 1; length < b.size(); ++length) {
    Finished found;
    take_lines(a + "\n" + b.substr(0, length), plan, all_of(plan), found);
    EXPECT_EQ(found.count, 1u);
    EXPECT_EQ(found.damaged, 1u);
    EXPECT_EQ(found.lines[0], a);
    EXPECT_TRUE(found.lines[4].empty());
  }
  Finished found;
  take_lines(b + "\n" + b + "\nxyz\n" + a + "\n", plan, all_of(plan), found);
  EXPECT_EQ(found.count, 2u) << "the same twice is one";
  EXPECT_EQ(found.damaged, 1u);
  Finished part;
  take_lines(b + "\n" + a + "\n", plan, {1, 3}, part);
  EXPECT_EQ(part.count, 1u);
  EXPECT_EQ(part.damaged, 1u) << "not of this range";
}

TEST(Results, CsvHasAColumnForEachKey) {
  const Plan plan = small_plan();
  Lines lines(plan.points.size());
  lines[0] = made_line(plan, 0);
  lines[4] = made_line(plan, 4);
  const std::string csv = points_csv(plan, figures_of(lines));
  const std::string head = csv.substr(0, csv.find('\n'));
  EXPECT_TRUE(head.starts_with("point,capture,policy,mb_cr1_5_max_trim_order,requests,")) << head;
  EXPECT_EQ(std::count(head.begin(), head.end(), ','),
            static_cast<std::ptrdiff_t>(3 + results::rows().size()));
  EXPECT_NE(csv.find("\n1,a.e4c,legacy,,100,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\n5,\"b \"\"c\"\",d\",cr1.5,3,104,"), std::string::npos) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
}

}  // namespace
}  // namespace e4r::sweep
