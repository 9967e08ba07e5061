// SPDX-License-Identifier: GPL-2.0-or-later
#include "ext4/criterion.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <mutex>
#include <string>

namespace e4r::mb {
namespace {

// Owns the strings to which a row points.
struct Texts {
  std::string name, key, section;
};

// Names are never removed, so a row stays valid.
struct Names {
  std::mutex adding;
  std::array<Texts, kOwnCriteria> texts;
  std::array<CriterionRow, kOwnCriteria> rows = {
      {{.criterion = Criterion::own_1, .name = "own-1"},
       {.criterion = Criterion::own_2, .name = "own-2"},
       {.criterion = Criterion::own_3, .name = "own-3"},
       {.criterion = Criterion::own_4, .name = "own-4"}}};
  std::atomic<std::size_t> count = 0;
};

Names& names() {
  static Names all;
  return all;
}

}  // namespace

std::string key_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    out += std::isalnum(letter) != 0 ? static_cast<char>(std::tolower(letter)) : '_';
  }
  return out;
}

std::optional<Criterion> own_criterion(std::string_view name) {
  Names& all = names();
  const std::lock_guard lock(all.adding);
  const std::size_t count = all.count;
  for (std::size_t i = 0; i < count; ++i)
    if (all.rows[i].name == name) return all.rows[i].criterion;
  if (count == kOwnCriteria) return std::nullopt;
  Texts& texts = all.texts[count];
  texts = {std::string(name), key_of(name), key_of(name) + "_stats"};
  CriterionRow& row = all.rows[count];
  row.name = row.title = texts.name;
  row.key = texts.key;
  row.section = texts.section;
  row.trims = true;  // choose() can shorten the goal
  all.count = count + 1;
  return row.criterion;
}

const CriterionRow& own_row(Criterion criterion) {
  return names()
      .rows[static_cast<std::size_t>(criterion) - static_cast<std::size_t>(Criterion::own_1)];
}

std::size_t own_criteria() {
  return names().count;
}

std::vector<CriterionRow> ladder_criteria() {
  std::vector<CriterionRow> out;
  for (const CriterionRow& row : kCriterionTable) {
    if (row.section.empty()) continue;
    if (row.criterion == Criterion::cr2)
      out.insert(out.end(), names().rows.begin(), names().rows.begin() + own_criteria());
    out.push_back(row);
  }
  return out;
}

}  // namespace e4r::mb
