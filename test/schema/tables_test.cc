// SPDX-License-Identifier: GPL-2.0-or-later
// The schemas in docs/schema repeat the lists of criteria and tunables, because they are the
// contract with other programs. This test compares the lists with the tables in the code.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "allocator/tunables.h"
#include "ext4/criterion.h"
#include "util/file.h"

namespace e4r::test {
namespace {

namespace json = boost::json;
using Names = std::set<std::string, std::less<>>;

Names sections() {
  Names out;
  for (const mb::CriterionRow& row : mb::ladder_criteria()) out.emplace(row.section);
  return out;
}

Names keys() {
  Names out;
  for (const mb::CriterionRow& row : mb::ladder_criteria()) out.emplace(row.key);
  return out;
}

Names tunables() {
  Names out;
  for (const allocator::TunableInfo& tunable : allocator::tunable_table())
    out.emplace(tunable.name);
  return out;
}

// A list in the schemas. `mark` identifies the list, and `is_entry` returns whether a name belongs
// to it.
struct List {
  std::string_view mark;
  bool (*is_entry)(std::string_view name);
  Names expected;
  std::size_t found = 0;
};

std::vector<List> lists() {
  return {{"cr0_stats", [](std::string_view name) { return name.ends_with("_stats"); }, sections()},
          {"cr0",
           [](std::string_view name) {
             static const Names kOthers = {"mean", "p50", "p99", "preallocation"};
             return !kOthers.contains(name);
           },
           keys()},
          {"mb_max_to_scan", [](std::string_view) { return true; }, tunables()}};
}

// Visits every object of a schema and its properties, at any depth.
void compare(const json::value& schema, const std::string& where, std::vector<List>& all) {
  if (const auto* array = schema.if_array())
    for (const json::value& value : *array) compare(value, where, all);
  const auto* object = schema.if_object();
  if (object == nullptr) return;
  if (const json::value* properties = object->if_contains("properties")) {
    for (List& list : all) {
      if (!properties->as_object().contains(list.mark)) continue;
      ++list.found;
      Names names;
      for (const auto& property : properties->as_object())
        if (list.is_entry(property.key())) names.emplace(property.key());
      EXPECT_EQ(names, list.expected) << where;
    }
  }
  for (const auto& [key, value] : *object)
    compare(value, where + "/" + std::string(std::string_view(key)), all);
}

TEST(SchemaTables, ListsAreThoseOfTheCode) {
  std::vector<List> all = lists();
  for (const auto& entry : std::filesystem::directory_iterator(SCHEMAS)) {
    const Result<std::string> text = read_file(entry.path());
    ASSERT_TRUE(text.ok());
    compare(json::parse(*text), entry.path().filename(), all);
  }
  for (const List& list : all) EXPECT_GE(list.found, 1u) << list.mark;
}

}  // namespace
}  // namespace e4r::test
