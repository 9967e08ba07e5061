// SPDX-License-Identifier: GPL-2.0-or-later
#include <sqlite3.h>

#include <memory>

#include "sweep/results.h"
#include "util/output.h"

namespace e4r::sweep {
namespace {

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

Error failed(sqlite3* db) {
  return error("{}", sqlite3_errmsg(db));
}

Status execute(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failed(db);
  return {};
}

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

// CREATE TABLE and INSERT for the columns of points.csv. Figures have no type: they are counts or
// ratios, each as it is.
struct Sql {
  std::string create;
  std::string insert;
};
Sql sql_for(const Plan& plan) {
  Sql out = {"CREATE TABLE points (point INTEGER PRIMARY KEY, capture TEXT, policy TEXT",
             "INSERT INTO points VALUES (?, ?, ?"};
  const auto add = [&out](std::string_view name, const char* type) {
    out.create += fmt::format(", {}{}", quoted_name(name), type);
    out.insert += ", ?";
  };
  for (const Axis& axis : plan.spec.axes) add(axis.tunable->name, " INTEGER");
  for (const report::Row& row : report::rows()) add(row.key, "");
  out.create += ")";
  out.insert += ")";
  return out;
}

// Values into the places of one statement, one after the other.
class Binder {
 public:
  explicit Binder(sqlite3_stmt* statement) : statement_(statement) {}
  void add(std::uint64_t value) {
    note(sqlite3_bind_int64(statement_, ++at_, static_cast<sqlite3_int64>(value)));
  }
  void add(std::string_view text) {
    note(sqlite3_bind_text64(statement_, ++at_, text.data(), text.size(), SQLITE_STATIC,
                             SQLITE_UTF8));
  }
  void add(const report::Value& value) {
    if (const auto* count = std::get_if<std::uint64_t>(&value))
      add(*count);
    else if (const auto* ratio = std::get_if<double>(&value))
      note(sqlite3_bind_double(statement_, ++at_, *ratio));
    else
      ++at_;  // not bound: NULL
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void note(int result) { ok_ = ok_ && result == SQLITE_OK; }
  sqlite3_stmt* statement_;
  int at_ = 0;
  bool ok_ = true;
};

Status insert(sqlite3* db, sqlite3_stmt* statement, const Plan& plan, std::size_t index,
              const std::vector<report::Value>& figures) {
  const Point& point = plan.points[index];
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  Binder bind(statement);
  bind.add(std::uint64_t{index + 1});
  bind.add(std::string_view(plan.spec.captures[point.capture]));
  bind.add(point.policy->name);
  for (const auto& value : point.values) bind.add(value ? report::Value(*value) : report::Value());
  for (const report::Value& value : figures) bind.add(value);
  if (!bind.ok() || sqlite3_step(statement) != SQLITE_DONE) return failed(db);
  return {};
}

Status fill(sqlite3* db, const Plan& plan, const Figures& figures) {
  // A file that is thrown away when anything fails needs no journal.
  E4R_CHECK(execute(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN"));
  const Sql sql = sql_for(plan);
  E4R_CHECK(execute(db, sql.create));
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db, sql.insert.c_str(), -1, &raw, nullptr) != SQLITE_OK) return failed(db);
  const Statement statement(raw);
  for (std::size_t i = 0; i < figures.size(); ++i)
    if (!figures[i].empty()) E4R_CHECK(insert(db, statement.get(), plan, i, figures[i]));
  return execute(db, "COMMIT");
}

Status make(const std::string& path, const Plan& plan, const Figures& figures) {
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  const Database db(raw);
  if (opened != SQLITE_OK) return failed(db.get());
  return fill(db.get(), plan, figures);
}

}  // namespace

Status write_sqlite(const std::string& path, const Plan& plan, const Figures& figures) {
  E4R_TRY(Output out, Output::create(path, OutputKind::file, {.needs_name = true}));
  if (const Status made = make(out.open_path(), plan, figures); !made.ok())
    return error("cannot write {}: {}", path, made.error().message);
  return out.commit();
}

}  // namespace e4r::sweep
