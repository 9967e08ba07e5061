// SPDX-License-Identifier: GPL-2.0-or-later
#include "exports/columns.h"

#include <array>

namespace e4r::exports {
namespace {

using replay::DecisionRow;
using replay::ServedBy;

template <auto Member>
Cell number(const Series&, const DecisionRow& row) {
  return std::uint64_t{row.*Member};
}

template <auto Member>
Cell number_if_any(const Series&, const DecisionRow& row) {
  if (row.*Member == 0) return {};
  return std::uint64_t{row.*Member};
}

template <auto Member>
Cell goal(const Series&, const DecisionRow& row) {
  if (row.*Member == replay::kNoGoal) return {};
  return row.*Member;
}

Cell criterion(const Series&, const DecisionRow& row) {
  if (row.served != ServedBy::search || row.criterion == mb::Criterion::unknown) return {};
  return mb::criterion_name(row.criterion);
}

Cell considered(const Series& series, const DecisionRow& row) {
  if (series.recorded()) return {};
  return row.considered;
}

Cell answered_after(const Series&, const DecisionRow& row) {
  if (row.answered_ns == 0) return {};
  return row.answered_ns - row.time_ns;
}

constexpr auto kColumns = std::to_array<Column>({
    {"run", "INTEGER",
     [](const Series& series, const DecisionRow&) -> Cell { return std::uint64_t{series.run}; }},
    {"policy", "TEXT",
     [](const Series& series, const DecisionRow&) -> Cell { return series.name; }},
    {"decision", "INTEGER", number<&DecisionRow::decision>},
    {"part", "INTEGER", number<&DecisionRow::part>},
    {"time_s", "REAL",
     [](const Series&, const DecisionRow& row) -> Cell { return Seconds{row.time_ns}; }},
    {"pid", "INTEGER", number<&DecisionRow::pid>},
    {"cpu", "INTEGER", number<&DecisionRow::cpu>},
    {"inode", "INTEGER", number<&DecisionRow::ino>},
    {"kind", "TEXT",
     [](const Series&, const DecisionRow& row) -> Cell {
       return std::string_view(row.data ? "data" : "metadata");
     }},
    {"logical_block", "INTEGER", number<&DecisionRow::logical>},
    {"goal_block", "INTEGER", goal<&DecisionRow::goal_block>},
    {"asked_clusters", "INTEGER", number<&DecisionRow::asked>},
    {"search_goal_block", "INTEGER", goal<&DecisionRow::search_goal_block>},
    {"search_goal_clusters", "INTEGER", number_if_any<&DecisionRow::search_goal_len>},
    {"served_by", "TEXT",
     [](const Series&, const DecisionRow& row) -> Cell { return served_text(row.served); }},
    {"criterion", "TEXT", criterion},
    {"block", "INTEGER", number_if_any<&DecisionRow::block>},
    {"len_clusters", "INTEGER", number<&DecisionRow::len>},
    {"taken_clusters", "INTEGER", number<&DecisionRow::taken>},
    {"groups_considered", "INTEGER", considered},
    {"groups_scanned", "INTEGER", number<&DecisionRow::groups_scanned>},
    {"extents_examined", "INTEGER", number<&DecisionRow::extents_examined>},
    {"answered_after_ns", "INTEGER", answered_after},
    {"code_ns", "INTEGER", number_if_any<&DecisionRow::code_ns>},
});

}  // namespace

std::span<const Column> columns() {
  return kColumns;
}

std::string_view served_text(ServedBy served) {
  switch (served) {
    case ServedBy::nothing:
      break;
    case ServedBy::preallocation:
      return "preallocation";
    case ServedBy::goal:
      return "goal";
    case ServedBy::search:
      return "search";
  }
  return "nothing";
}

}  // namespace e4r::exports
