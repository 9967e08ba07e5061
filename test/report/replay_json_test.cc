// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "report/replay_report.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

ReplayReport followed_report() {
  ReplayReport report;
  report.geometry.block_size = 4096;
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
  report.runs[0].agreement.emplace();  // a verify
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

}  // namespace
}  // namespace e4r::report
