// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "util/output.h"
#include "util/status.h"

namespace e4r::table {

// Encloses a string in double quotes and doubles each quote in it: a CSV cell or an SQL identifier.
[[nodiscard]] std::string quote(std::string_view text);
// A string as a CSV cell (RFC 4180). It is quoted if it contains a comma, a quote or a line break.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace e4r::table

struct sqlite3;
struct sqlite3_stmt;

// SQLite databases that are written once, from start to end.
namespace e4r::table {

class Database;

// An SQL statement that runs repeatedly, each time with other values. The database must outlive it.
class Statement {
 public:
  // Binds the value of the next `?`. A string must stay valid until run().
  void add(std::uint64_t value);
  void add(double value);
  void add(std::string_view text);
  void add_null();
  // Runs the statement with these values. The next add() binds the first `?` again.
  [[nodiscard]] Status run();

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  void note(int result);

  sqlite3* db_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int at_ = 0;
  bool ok_ = true;
};

class Database {
 public:
  // Runs SQL statements without parameters.
  [[nodiscard]] Status execute(const std::string& sql);
  [[nodiscard]] Result<Statement> prepare(const std::string& sql);

 private:
  friend Status write_database(const OutputName&, const std::function<Status(Database&)>&);
  struct Close {
    void operator()(sqlite3* db) const;
  };
  explicit Database(sqlite3* db) : db_(db) {}
  [[nodiscard]] Error failed() const;

  std::unique_ptr<sqlite3, Close> db_;
};

// Writes a database as an output of a command (util/output.h, OutputKind::file). `fill` runs inside
// one transaction. If `fill` or SQLite fails, no file is made.
[[nodiscard]] Status write_database(const OutputName& name,
                                    const std::function<Status(Database&)>& fill);

}  // namespace e4r::table
