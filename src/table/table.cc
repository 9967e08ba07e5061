// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/table.h"

#include <sqlite3.h>

namespace e4r::table {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_cell(std::string_view text) {
  return text.find_first_of(",\"\r\n") == std::string_view::npos ? std::string(text) : quote(text);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Database::Close::operator()(sqlite3* db) const {
  sqlite3_close(db);
}

void Statement::note(int result) {
  ok_ = ok_ && result == SQLITE_OK;
}

void Statement::add(std::uint64_t value) {
  note(sqlite3_bind_int64(statement_.get(), ++at_, static_cast<sqlite3_int64>(value)));
}

void Statement::add(double value) {
  note(sqlite3_bind_double(statement_.get(), ++at_, value));
}

void Statement::add(std::string_view text) {
  note(sqlite3_bind_text64(statement_.get(), ++at_, text.data(), text.size(), SQLITE_STATIC,
                           SQLITE_UTF8));
}

void Statement::add_null() {
  note(sqlite3_bind_null(statement_.get(), ++at_));
}

Status Statement::run() {
  const bool done = ok_ && sqlite3_step(statement_.get()) == SQLITE_DONE;
  if (!done) return error("{}", sqlite3_errmsg(db_));
  at_ = 0;
  return sqlite3_reset(statement_.get()) == SQLITE_OK ? Status() : error("{}", sqlite3_errmsg(db_));
}

Error Database::failed() const {
  return error("{}", sqlite3_errmsg(db_.get()));
}

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failed();
  return {};
}

Result<Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) return failed();
  return Statement(db_.get(), raw);
}

Status write_database(const OutputName& name, const std::function<Status(Database&)>& fill) {
  E4R_TRY(Output out, Output::create(name, OutputKind::file, {.needs_name = true}));
  const auto make = [&]() -> Status {
    sqlite3* raw = nullptr;
    const int opened = sqlite3_open_v2(out.open_path().c_str(), &raw,
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    Database db(raw);
    if (opened != SQLITE_OK) return db.failed();
    // The file is discarded if anything fails, so it needs no journal.
    E4R_CHECK(db.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN"));
    E4R_CHECK(fill(db));
    return db.execute("COMMIT");
  };
  if (const Status made = make(); !made.ok())
    return error("cannot write {}: {}", name.path(), made.error().message);
  return out.commit();
}

}  // namespace e4r::table
