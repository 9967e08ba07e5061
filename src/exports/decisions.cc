// SPDX-License-Identifier: GPL-2.0-or-later
#include "exports/decisions.h"

#include <array>
#include <iterator>

#include "allocator/tunables.h"
#include "table/table.h"
#include "util/text.h"

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

Cell considered(const Series&, const DecisionRow& row) {
  if (!row.considered) return {};
  return *row.considered;
}

Cell answered_after(const Series&, const DecisionRow& row) {
  if (row.answered_ns == 0) return {};
  return row.answered_ns - row.time_ns;
}

constexpr auto kColumns = std::to_array<DecisionColumn>({
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

std::span<const DecisionColumn> columns() {
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

namespace {

using table::Database;
using table::Statement;

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

bool is_database(std::string_view path) {
  return path.ends_with(".sqlite");
}

struct PutCsv {
  std::string& out;
  void operator()(std::monostate) const {}
  void operator()(std::uint64_t value) const {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
  void operator()(Seconds time) const {
    fmt::format_to(std::back_inserter(out), "{}.{:09}", time.ns / kNsPerSecond,
                   time.ns % kNsPerSecond);
  }
  void operator()(std::string_view text) const { out += table::csv_cell(text); }
};

// Lines end in CR LF (RFC 4180).
Status write_csv(const OutputName& name, std::span<const Series> all) {
  constexpr std::size_t kAtOnce = 1 << 20;
  E4R_TRY(Output out, Output::create(name));
  std::string text;
  for (const DecisionColumn& column : columns()) (text += text.empty() ? "" : ",") += column.name;
  text += "\r\n";
  for (const Series& series : all)
    for (const DecisionRow& row : series.rows->all()) {
      for (const DecisionColumn& column : columns()) {
        std::visit(PutCsv{text}, column.cell(series, row));
        text += ',';
      }
      text.back() = '\r';
      text += '\n';
      if (text.size() < kAtOnce) continue;
      E4R_CHECK(out.write(text));
      text.clear();
    }
  E4R_CHECK(out.write(text));
  return out.commit();
}

struct Bind {
  Statement& statement;
  void operator()(std::monostate) const { statement.add_null(); }
  void operator()(std::uint64_t value) const { statement.add(value); }
  void operator()(Seconds time) const {
    statement.add(static_cast<double>(time.ns) / static_cast<double>(kNsPerSecond));
  }
  void operator()(std::string_view text) const { statement.add(text); }
};

Status fill_decisions(Database& db, std::span<const Series> all) {
  std::string create = "CREATE TABLE decisions (";
  std::string insert = "INSERT INTO decisions VALUES (";
  for (const DecisionColumn& column : columns()) {
    create += fmt::format("{} {}, ", table::quote(column.name), column.type);
    insert += "?, ";
  }
  E4R_CHECK(db.execute(create + "PRIMARY KEY (run, decision, part))"));
  insert.replace(insert.size() - 2, 2, ")");
  E4R_TRY(Statement statement, db.prepare(insert));
  for (const Series& series : all)
    for (const DecisionRow& row : series.rows->all()) {
      for (const DecisionColumn& column : columns())
        std::visit(Bind{statement}, column.cell(series, row));
      E4R_CHECK(statement.run());
    }
  return db.execute(
      "CREATE INDEX decisions_by_decision ON decisions (decision);"
      "CREATE INDEX decisions_by_inode ON decisions (inode);"
      "CREATE INDEX decisions_by_criterion ON decisions (run, criterion)");
}

// Metadata: facts about the whole comparison, and the tunables of each run.
class Meta {
 public:
  explicit Meta(Statement statement) : statement_(std::move(statement)) {}

  [[nodiscard]] Status add(std::string_view key, std::string_view value) {
    return put(nullptr, key, value);
  }
  [[nodiscard]] Status add(std::uint64_t run, std::string_view key, std::string_view value) {
    return put(&run, key, value);
  }

 private:
  [[nodiscard]] Status put(const std::uint64_t* run, std::string_view key, std::string_view value) {
    run == nullptr ? statement_.add_null() : statement_.add(*run);
    statement_.add(key);
    const std::string text = valid_utf8(value);
    statement_.add(std::string_view(text));
    return statement_.run();
  }
  Statement statement_;
};

Status fill_run(Meta& meta, std::uint64_t number, const results::Outcome& run) {
  E4R_CHECK(meta.add(number, "policy", run.policy->name));
  for (const allocator::TunableInfo& tunable : allocator::tunable_table())
    if (allocator::has_tunable(*run.policy, tunable))
      E4R_CHECK(meta.add(number, tunable.name, std::to_string(value_of(run.tunables, tunable))));
  return {};
}

Status fill_meta(Database& db, const report::ReplayReport& report, std::string_view version) {
  E4R_CHECK(
      db.execute("CREATE TABLE meta (run INTEGER, key TEXT NOT NULL, value TEXT NOT NULL, "
                 "UNIQUE (run, key))"));
  E4R_TRY(Statement insert, db.prepare("INSERT INTO meta VALUES (?, ?, ?)"));
  Meta meta(std::move(insert));
  const image::SuperblockInfo& geometry = report.superblock;
  E4R_CHECK(meta.add("version", version));
  E4R_CHECK(meta.add("image", report.image_path));
  E4R_CHECK(meta.add("trace", report.trace_path));
  E4R_CHECK(meta.add("device", report.device));
  E4R_CHECK(meta.add("recorded_kernel", kernel_text(report)));
  E4R_CHECK(meta.add("recorded_policy", report.recorded_policy));
  E4R_CHECK(meta.add("block_bytes", std::to_string(geometry.block_size())));
  E4R_CHECK(meta.add("cluster_blocks", std::to_string(geometry.to_blocks(1))));
  E4R_CHECK(meta.add("group_blocks", std::to_string(geometry.blocks_per_group)));
  E4R_CHECK(meta.add("groups", std::to_string(geometry.groups)));
  E4R_CHECK(meta.add(0, "policy", "recorded"));
  for (std::size_t i = 0; i < report.runs.size(); ++i)
    E4R_CHECK(fill_run(meta, i + 1, report.runs[i]));
  return {};
}

}  // namespace

Status check_name(std::string_view path) {
  if (path.empty() || path.ends_with(".csv") || is_database(path)) return {};
  if (path.ends_with(".parquet"))
    return error(
        "{}: Debian 12 has no library that writes Parquet: write .csv or .sqlite, which DuckDB and "
        "pandas can convert to Parquet",
        path);
  return error("{}: the file name selects the format: it must end with .csv or .sqlite", path);
}

OutputKind kind_of(std::string_view path) {
  return is_database(path) ? OutputKind::file : OutputKind::stream;
}

Status write_decisions(const OutputName& name, std::span<const Series> series,
                       const report::ReplayReport& report, std::string_view version) {
  if (!is_database(name.path())) return write_csv(name, series);
  return table::write_database(name, [&](Database& db) -> Status {
    E4R_CHECK(fill_decisions(db, series));
    return fill_meta(db, report, version);
  });
}

}  // namespace e4r::exports
