// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "ext4/criterion.h"
#include "util/file.h"

namespace e4r::results {
namespace {

Value whole(std::uint64_t n) {
  return n;
}

TEST(ChangeText, WhatIsRoundedToNothingHasNoSign) {
  EXPECT_EQ(change_text(whole(1028610), whole(1028578)), "0.0 %");
  EXPECT_EQ(change_text(whole(1028578), whole(1028610)), "0.0 %");
  EXPECT_EQ(change_text(57.8201, 57.82), "0.0 %");
  EXPECT_EQ(change_text(whole(10000), whole(9995)), "-0.1 %");
  EXPECT_EQ(change_text(whole(10000), whole(9996)), "0.0 %");
  EXPECT_EQ(change_text(whole(10000), whole(10006)), "+0.1 %");
}

TEST(ChangeText, SaysWhatHasNoPercent) {
  EXPECT_EQ(change_text(whole(7), whole(7)), "=");
  EXPECT_EQ(change_text(whole(0), whole(0)), "=");
  EXPECT_EQ(change_text(whole(0), whole(3)), "new");
  EXPECT_EQ(change_text(whole(4), whole(0)), "-100.0 %");
  EXPECT_EQ(change_text(whole(4), whole(50)), "x12.5");
  EXPECT_EQ(change_text(Value(), whole(4)), "");
  EXPECT_EQ(change_text(whole(4), Value()), "");
}

TEST(ChangeText, ADifferenceWithinLuckIsNone) {
  EXPECT_EQ(change_text(whole(1000), whole(1031), 0.4), "+3.1 % (luck ±0.4)");
  EXPECT_EQ(change_text(whole(1000), whole(996), 0.4), "= (luck ±0.4)");
  EXPECT_EQ(change_text(whole(1000), whole(995), 0.4), "-0.5 % (luck ±0.4)");
  EXPECT_EQ(change_text(whole(1000), whole(1031), 0), "+3.1 %");
  EXPECT_EQ(change_text(whole(1000), whole(1031), 0.04), "+3.1 %");
  EXPECT_EQ(change_text(whole(0), whole(3), 5), "new");
  EXPECT_EQ(change_text(Value(), whole(4), 5), "");
}

// Every criterion in the table must have rows in all reports.
TEST(Rows, EveryCriterionHasItsOwn) {
  for (const mb::CriterionRow& criterion : mb::ladder_criteria()) {
    for (const char* counter :
         {"hits", "groups_considered", "extents_scanned", "useless_loops", "bad_suggestions"}) {
      const Row* row = find_row(fmt::format("mb_stats/{}/{}", criterion.section, counter));
      ASSERT_NE(row, nullptr) << criterion.name << " " << counter;
      EXPECT_EQ(row->label, fmt::format("  {}", criterion.title));
    }
    const Row* time = find_row(fmt::format("decision_ns/{}", criterion.key));
    ASSERT_NE(time, nullptr) << criterion.name;
    EXPECT_EQ(time->label, fmt::format("  mean, {}", criterion.title));
  }
}

// A counter of a criterion must appear only in that criterion's row.
TEST(Rows, ShowTheirOwnCriterion) {
  Outcome run;
  std::uint64_t value = 1;
  for (const mb::CriterionRow& criterion : mb::ladder_criteria())
    run.searches[criterion.criterion].groups_considered = value++;
  std::uint64_t all = 0;
  value = 1;
  for (const mb::CriterionRow& criterion : mb::ladder_criteria()) {
    const Row* row = find_row(fmt::format("mb_stats/{}/groups_considered", criterion.section));
    EXPECT_EQ(row->of(run), whole(value)) << criterion.name;
    all += value++;
  }
  EXPECT_EQ(find_row("groups_considered")->of(run), whole(all));
}

// If a search ends after the last criterion, 6.12.77 and 6.17 count it as a useless loop of the
// first criterion.
TEST(Rows, ShowWhatFaultyCountersMean) {
  Outcome run;
  run.policy = allocator::find_policy("linux-7.3");
  run.searches[mb::Criterion::cr0].useless_loops = 144;
  run.searches[mb::Criterion::cr3].hits = 16;
  run.searches[mb::Criterion::past_last].hits = 138;
  EXPECT_EQ(find_row("searches_past_cr3")->of(run), whole(138));
  EXPECT_EQ(find_row("mb_stats/cr0_stats/useless_loops")->of(run), whole(6));
  EXPECT_EQ(find_row("mb_stats/cr3_stats/hits")->of(run), whole(16));
  run.searches[mb::Criterion::past_last].hits.reset();
  EXPECT_EQ(find_row("searches_past_cr3")->of(run), Value());
  EXPECT_EQ(find_row("mb_stats/cr0_stats/useless_loops")->of(run), whole(144));
}

constexpr Reporter kAll[] = {Reporter::replay,  Reporter::review, Reporter::hunt,   Reporter::age,
                             Reporter::writers, Reporter::watch,  Reporter::metrics};

// A key is a path in a document, so no row may have the same key as another row, or a key below
// another row's key.
TEST(Rows, HaveTheirOwnPlaceInEachDocument) {
  for (const Reporter reporter : kAll) {
    const auto all = rows(reporter);
    EXPECT_FALSE(all.empty());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].index, i);
      EXPECT_EQ(find_row(all[i].key, reporter), &all[i]) << all[i].key << " is there twice";
      for (const Row& other : all) EXPECT_FALSE(other.key.starts_with(all[i].key + "/"));
    }
  }
}

// If a label or key ends with a unit, it must be the row's unit.
TEST(Rows, HaveTheUnitOfTheirLabel) {
  for (const Reporter reporter : kAll) {
    if (reporter == Reporter::metrics) continue;  // its labels have no units
    for (const Row& row : rows(reporter)) {
      const auto ends = [&row](std::string_view with) {
        return row.label.ends_with(with) || row.key.ends_with(with);
      };
      EXPECT_EQ(row.unit == Unit::percent, ends(", %") || ends("percent")) << row.key;
      EXPECT_EQ(row.unit == Unit::kib, ends(", KB") || ends("_kb") || ends("_kb_per_file"))
          << row.key;
    }
  }
}

// Prometheus can divide counters by each other, so there is no metric for a rate. The help must be
// a sentence.
TEST(Rows, OfMetricsAreCountersOrStatesWithHelp) {
  for (const Row& row : rows(Reporter::metrics)) {
    EXPECT_TRUE(row.label.ends_with('.') && isupper(static_cast<unsigned char>(row.label.front())))
        << row.key << ": " << row.label;
    EXPECT_TRUE(row.criterion.empty() || row.key.ends_with(fmt::format("/{}", row.criterion)));
  }
  EXPECT_EQ(find_row("requests_per_s", Reporter::metrics), nullptr);
  EXPECT_EQ(find_row("groups_per_request", Reporter::metrics), nullptr);
  EXPECT_TRUE(find_row("requests", Reporter::metrics)->counted);
  EXPECT_TRUE(find_row("searches/cr0", Reporter::metrics)->counted);
  EXPECT_FALSE(find_row("free_extents", Reporter::metrics)->counted);
}

// A review has 22 characters for a label.
TEST(Rows, FitIntoALineOfAReview) {
  for (const Row& row : rows(Reporter::review)) {
    EXPECT_LE(row.label.size(), 22u) << row.label;
    EXPECT_FALSE(row.label.empty() || row.label.starts_with(' ')) << row.key;
  }
}

// A start image has figures of free space, but no figures of a run.
TEST(Rows, OfTheStartAreOfFreeSpace) {
  Outcome start;
  start.free.extents.add(0, 100);
  for (const Row& row : rows()) EXPECT_EQ(row.start, row.key.starts_with("free_")) << row.key;
  EXPECT_EQ(find_row("free_extents/max_kb")->of(start), whole(400));
  EXPECT_EQ(find_row("aged/max_kb", Reporter::age)->of(start), whole(400));
}

// An aged file system has no figures of a replay, and a replay has no figures of ageing.
TEST(Rows, OfOneKindOfRunAreNoneOfTheOther) {
  Outcome replayed, aged;
  aged.aged.emplace();
  EXPECT_EQ(find_row("failed")->of(replayed), whole(0));
  EXPECT_EQ(find_row("failed")->of(aged), Value());
  EXPECT_EQ(find_row("freed/runs", Reporter::age)->of(replayed), Value());
  EXPECT_EQ(find_row("freed/runs", Reporter::age)->of(aged), whole(0));
}

// docs/metrics.md must have the key and label of each row in one line. There, SECTION and CRITERION
// stand for the names of each criterion.
TEST(Rows, AreInTheDocumentation) {
  const Result<std::string> page = read_file(METRICS);
  ASSERT_TRUE(page.ok());
  const auto documented = [&](std::string label, const std::string& key) {
    label.erase(0, label.find_first_not_of(' '));
    std::istringstream lines(*page);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("| " + label + " |") && line.find("`" + key + "`") != std::string::npos)
        return true;
    return false;
  };
  for (const Row& row : rows()) {
    std::string label = row.label, key = row.key;
    for (const mb::CriterionRow& criterion : mb::ladder_criteria()) {
      const std::string title(criterion.title);
      const std::string own = fmt::format("  {}", title), mean = fmt::format("  mean, {}", title);
      if (label != own && label != mean) continue;
      label = label == own ? "CRITERION" : "mean, CRITERION";
      const std::string section = fmt::format("/{}/", criterion.section);
      if (const auto at = key.find(section); at != std::string::npos)
        key.replace(at, section.size(), "/SECTION/");
      else
        key = "decision_ns/CRITERION";
    }
    EXPECT_TRUE(documented(label, key)) << label << ": " << key;
  }
}

}  // namespace
}  // namespace e4r::results
