// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"
#include "sweep/lines.h"
#include "sweep/ranking.h"
#include "util/file.h"

namespace e4r::sweep {
namespace {

class StoreTest : public ::testing::Test {
 protected:
  std::string manifest(const char* program = "e4replay 1", std::uint32_t sum = 5) const {
    CaptureId a, b;
    a.name = plan_.spec.captures[0];
    b.name = plan_.spec.captures[1];
    b.trace_sum = sum;
    return manifest_text(program, plan_, {a, b}, {}, all_of(plan_));
  }
  Result<Store> begin(bool resume) {
    return Store::begin(where_, manifest(), plan_, all_of(plan_), resume);
  }
  std::string refusal(const std::string& of_manifest, bool resume) {
    const auto found = Store::look(where_, of_manifest, plan_, all_of(plan_), resume);
    if (found.ok()) return "none";
    std::string text = found.error().message;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    for (std::size_t at = 0; (at = text.find(where_)) != std::string::npos;)
      text.replace(at, where_.size(), "DIR");
    return text;
  }
  std::string text(const std::string& name) { return *read_file(where_ + "/" + name); }
  void put(const std::string& name, const std::string& bytes) {
    std::ofstream(where_ + "/" + name, std::ios::binary) << bytes;
  }
  Status write(Store& store) {
    return write_results(store, plan_, figures_of(store.finished().lines),
                         **find_metric("files/extents"));
  }

  test::TempDir dir_;
  std::string where_ = dir_.file("out");
  Plan plan_ = small_plan();
};

TEST_F(StoreTest, PointsInAnyOrderEndInTheirs) {
  {
    auto store = begin(false);
    ASSERT_TRUE(store.ok()) << store.error().message;
    for (const std::size_t index : {3u, 0u, 5u, 1u, 4u, 2u})
      ASSERT_TRUE(store->add(index, made_line(plan_, index)).ok());
    ASSERT_TRUE(write(*store).ok());
  }
  std::string wanted;
  for (std::size_t i = 0; i < 6; ++i) wanted += made_line(plan_, i) + "\n";
  EXPECT_EQ(text("points.jsonl"), wanted);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(where_))
    names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"points.csv", "points.jsonl", "summary.json",
                                          "sweep.json", "sweep.sqlite"}));
}

TEST_F(StoreTest, GoesOnFromAJournalCutAnywhere) {
  {
    auto store = begin(false);
    ASSERT_TRUE(store.ok());
    for (const std::size_t index : {4u, 1u})
      ASSERT_TRUE(store->add(index, made_line(plan_, index)).ok());
  }
  const std::string journal = text("points.journal");
  const std::size_t first = journal.find('\n') + 1;
  for (std::size_t length = 0; length <= journal.size(); length += 13) {
    put("points.journal", journal.substr(0, length));
    auto store = begin(true);
    ASSERT_TRUE(store.ok()) << store.error().message;
    const bool whole = length == 0 || length == first || length == journal.size();
    EXPECT_EQ(store->finished().damaged, whole ? 0u : 1u) << length;
    EXPECT_EQ(store->finished().count, length < first ? 0u : length < journal.size() ? 1u : 2u);
    // The torn line was removed, and the next point gets a line of its own.
    ASSERT_TRUE(store->add(0, made_line(plan_, 0)).ok());
    Finished again;
    take_lines(text("points.journal"), plan_, all_of(plan_), again);
    EXPECT_EQ(again.damaged, 0u);
    EXPECT_EQ(again.count, store->finished().count);
  }
}

// Simulates two nodes that do not see each other's locks. The process on the other node has
// finished the sweep and removed the journal.
TEST_F(StoreTest, EndsWhereAnotherHasEnded) {
  auto store = begin(false);
  ASSERT_TRUE(store.ok());
  for (std::size_t i = 0; i < 6; ++i) ASSERT_TRUE(store->add(i, made_line(plan_, i)).ok());
  ASSERT_TRUE(std::filesystem::remove(where_ + "/points.journal"));
  const Status written = write(*store);
  EXPECT_TRUE(written.ok()) << written.error().message;
}

TEST_F(StoreTest, DamagedResultsAreDoneAgain) {
  {
    auto store = begin(false);
    ASSERT_TRUE(store.ok());
    for (std::size_t i = 0; i < 6; ++i) ASSERT_TRUE(store->add(i, made_line(plan_, i)).ok());
    ASSERT_TRUE(write(*store).ok());
  }
  std::string damaged = text("points.jsonl");
  damaged[damaged.size() / 2] ^= 4;
  put("points.jsonl", damaged);
  auto store = begin(true);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->finished().count, 5u);
  EXPECT_EQ(store->finished().damaged, 1u);
}

TEST_F(StoreTest, WhatAKillLeftIsRemoved) {
  { ASSERT_TRUE(begin(false).ok()); }
  put("points.csv.Xy12Ab", "half");
  put("sweep.sqlite.tmp", "half");
  ASSERT_TRUE(begin(true).ok());
  EXPECT_FALSE(std::filesystem::exists(where_ + "/points.csv.Xy12Ab"));
  EXPECT_FALSE(std::filesystem::exists(where_ + "/sweep.sqlite.tmp"));
  // Simulate a sweep that was killed before it wrote any point.
  std::filesystem::remove_all(where_);
  std::filesystem::create_directory(where_);
  put("sweep.json.Xy12Ab", "half");
  EXPECT_TRUE(begin(true).ok());
}

TEST_F(StoreTest, RefusesWhatIsNotItsOwn) {
  EXPECT_EQ(refusal(manifest(), false), "none") << "not there";
  EXPECT_EQ(refusal(manifest(), true), "none");
  { ASSERT_TRUE(begin(false).ok()); }
  EXPECT_EQ(refusal(manifest(), true), "none");
  EXPECT_EQ(refusal(manifest(), false),
            "DIR: is not empty: continue the sweep in it with --resume, or give another directory "
            "with -o");
  EXPECT_EQ(refusal(manifest("e4replay 2"), true),
            "DIR/sweep.json: belongs to another sweep: it has program \"e4replay 1\", not "
            "\"e4replay 2\"; give another directory with -o");
  EXPECT_EQ(refusal(manifest("e4replay 1", 6), true),
            "DIR/sweep.json: belongs to another sweep: \"b \\\"c\\\",d\" has changed (size, "
            "checksum or recorded tunables); give another directory with -o");
  const auto changed = [this](auto change) {
    Plan other = plan_;
    change(other.spec);
    other = *make_plan(std::move(other.spec));
    CaptureId id;
    std::vector<CaptureId> ids;
    for (const std::string& name : other.spec.captures) {
      id.name = name;
      ids.push_back(id);
    }
    return refusal(manifest_text("e4replay 1", other, ids, {}, all_of(other)), true);
  };
  EXPECT_NE(changed([](PlanSpec& s) { s.policies.pop_back(); }).find("its policies are ["),
            std::string::npos);
  EXPECT_NE(changed([](PlanSpec& s) { s.axes[0].values[0] = 4; }).find("it has --set values {"),
            std::string::npos);
  EXPECT_NE(changed([](PlanSpec& s) { s.where = "policy == legacy"; }).find("it has --where "),
            std::string::npos);
  EXPECT_NE(changed([](PlanSpec& s) { s.captures.pop_back(); }).find("its captures are"),
            std::string::npos);
  put("sweep.json", "{");
  EXPECT_NE(refusal(manifest(), true).find("damaged"), std::string::npos);
  std::filesystem::remove(where_ + "/sweep.json");
  put("notes.txt", "mine");
  EXPECT_EQ(refusal(manifest(), true),
            "DIR: is not empty and holds no sweep: give another directory with -o");
  std::filesystem::remove_all(where_);
  std::ofstream(where_) << "a file";
  EXPECT_EQ(refusal(manifest(), true), "DIR: is not a directory");
}

TEST_F(StoreTest, OneAtATime) {
  auto first = begin(false);
  ASSERT_TRUE(first.ok());
  const auto second = begin(true);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("is in use by another sweep"), std::string::npos);
}

std::vector<std::string> ask(const std::string& path, const char* sql) {
  std::vector<std::string> out;
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  const auto row = [](void* to, int count, char** values, char**) {
    std::string line;
    for (int i = 0; i < count; ++i)
      line += std::string(i > 0 ? "|" : "") + (values[i] == nullptr ? "NULL" : values[i]);
    static_cast<std::vector<std::string>*>(to)->push_back(line);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, sql, row, &out, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
  return out;
}

TEST_F(StoreTest, DatabaseHasTheSame) {
  Lines lines(plan_.points.size());
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = made_line(plan_, i, 10 * i);
  const std::string path = dir_.file("points.sqlite");
  ASSERT_TRUE(write_sqlite(path, plan_, figures_of(lines)).ok());
  EXPECT_EQ(
      ask(path,
          "SELECT point, capture, policy, mb_cr1_5_max_trim_order, "
          "\"mb_stats/extents_scanned\", \"mb_stats/groups_scanned\" FROM points "
          "WHERE point IN (1, 6)"),
      (std::vector<std::string>{"1|a.e4c|legacy|NULL|0|NULL", "6|b \"c\",d|cr1.5|5|50|NULL"}));
  EXPECT_EQ(ask(path, "SELECT count(*), max(\"files/avg_extents\") > 1.3 FROM points"),
            std::vector<std::string>{"6|1"});
  const auto failed = write_sqlite(dir_.file("no/points.sqlite"), plan_, figures_of(lines));
  ASSERT_FALSE(failed.ok());
  EXPECT_TRUE(failed.error().message.starts_with("cannot write ")) << failed.error().message;
}

TEST(PointRange, IsReadAndChecked) {
  const Plan plan = small_plan();
  const auto mistake = [&plan](std::string_view text) {
    const auto range = parse_range(text, plan);
    return range.ok() ? fmt::format("{} to {}", range->first, range->last) : range.error().message;
  };
  EXPECT_EQ(mistake("2-5"), "2 to 5");
  EXPECT_EQ(mistake("6"), "6 to 6");
  EXPECT_EQ(mistake("1-7"), "1-7: there are 6 points");
  for (const char* text : {"0-3", "4-3", "a-b", "", "1-", "-3", "1-2-3"})
    EXPECT_NE(mistake(text).find("is not a range of points"), std::string::npos) << text;
}

TEST(Identity, OfATraceIsSizeAndChecksum) {
  const test::TempDir dir;
  std::ofstream(dir.file("t")) << "123456789";
  CaptureId id;
  ASSERT_TRUE(identify_trace(dir.file("t"), id).ok());
  EXPECT_EQ(id.trace_bytes, 9u);
  EXPECT_EQ(id.trace_sum, 0xe3069283u);
  EXPECT_FALSE(identify_trace(dir.file("no"), id).ok());
  EXPECT_FALSE(identify_trace(dir.path(), id).ok());
}

TEST(Identity, OfAnImageIsWhatAReplayTakesFromIt) {
  std::vector<std::uint64_t> words(4);
  state::Source source;
  source.groups.resize(1);
  source.groups[0].words = words;
  const std::uint32_t before = source_sum(source);
  words[3] = 1;
  EXPECT_NE(source_sum(source), before);
  words[3] = 0;
  EXPECT_EQ(source_sum(source), before);
  source.geometry.stripe = 16;
  EXPECT_NE(source_sum(source), before);
  source.geometry.stripe = 0;
  source.metadata.push_back({1, 2});
  EXPECT_NE(source_sum(source), before);
}

}  // namespace
}  // namespace e4r::sweep
