// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/results.h"
#include "table/csv.h"
#include "table/database.h"

namespace e4r::sweep {
namespace {

using table::Database;
using table::Statement;

// CREATE TABLE and INSERT for the columns of points.csv. Columns of figures have no type, because a
// figure may be a count or a ratio.
struct Sql {
  std::string create;
  std::string insert;
};
Sql sql_for(const Plan& plan) {
  Sql out = {"CREATE TABLE points (point INTEGER PRIMARY KEY, capture TEXT, policy TEXT",
             "INSERT INTO points VALUES (?, ?, ?"};
  const auto add = [&out](std::string_view name, const char* type) {
    out.create += fmt::format(", {}{}", table::quoted(name), type);
    out.insert += ", ?";
  };
  for (const Axis& axis : plan.spec.axes) add(axis.tunable->name, " INTEGER");
  for (const results::Row& row : results::rows()) add(row.key, "");
  out.create += ")";
  out.insert += ")";
  return out;
}

void add(Statement& statement, const results::Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value))
    statement.add(*count);
  else if (const auto* ratio = std::get_if<double>(&value))
    statement.add(*ratio);
  else
    statement.add_null();
}

Status insert(Statement& statement, const Plan& plan, std::size_t index,
              const std::vector<results::Value>& figures) {
  const Point& point = plan.points[index];
  statement.add(std::uint64_t{index + 1});
  statement.add(std::string_view(plan.spec.captures[point.capture]));
  statement.add(point.policy->name);
  for (const auto& value : point.values)
    add(statement, value ? results::Value(*value) : results::Value());
  for (const results::Value& value : figures) add(statement, value);
  return statement.run();
}

}  // namespace

Status write_sqlite(const std::string& path, const Plan& plan, const Figures& figures) {
  return table::write_database(path, [&](Database& db) -> Status {
    const Sql sql = sql_for(plan);
    E4R_CHECK(db.execute(sql.create));
    E4R_TRY(Statement statement, db.prepare(sql.insert));
    for (std::size_t i = 0; i < figures.size(); ++i)
      if (!figures[i].empty()) E4R_CHECK(insert(statement, plan, i, figures[i]));
    return {};
  });
}

}  // namespace e4r::sweep
