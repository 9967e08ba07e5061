// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"
#include "table/table.h"
#include "util/file.h"

namespace e4r::table {
namespace {

TEST(Csv, TextIsInQuotesWhereItNeedsThem) {
  EXPECT_EQ(csv_cell("cr1.5"), "cr1.5");
  EXPECT_EQ(csv_cell(""), "");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"no\""), "\"say \"\"no\"\"\"");
  EXPECT_EQ(csv_cell("a\nb"), "\"a\nb\"");
  EXPECT_EQ(csv_cell("a\rb"), "\"a\rb\"");
}

TEST(Sql, NamesAreInQuotes) {
  EXPECT_EQ(quote("files/extents"), "\"files/extents\"");
  EXPECT_EQ(quote("a\"b"), "\"a\"\"b\"");
}

class DatabaseFile : public testing::Test {
 protected:
  [[nodiscard]] bool there() const { return std::filesystem::exists(path_); }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(dir_.path()), {});
  }
  test::TempDir dir_;
  const std::string path_ = dir_.file("out.sqlite");
};

TEST_F(DatabaseFile, ItIsThereWhenItIsWhole) {
  const Status made = write_database(path_, [&](Database& db) -> Status {
    E4R_CHECK(db.execute("CREATE TABLE t (a, b)"));
    E4R_TRY(Statement insert, db.prepare("INSERT INTO t VALUES (?, ?)"));
    for (std::uint64_t i = 0; i < 3; ++i) {
      insert.add(i);
      insert.add(std::string_view("it's"));
      E4R_CHECK(insert.run());
    }
    EXPECT_FALSE(there());
    return {};
  });
  EXPECT_TRUE(made.ok());
  EXPECT_EQ(files(), 1);
  const Result<std::string> bytes = read_file(path_);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->substr(0, 15), "SQLite format 3");
}

TEST_F(DatabaseFile, NothingIsLeftOfOneThatFailed) {
  const Status refused =
      write_database(path_, [](Database&) -> Status { return error("no more rows"); });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "cannot write " + path_ + ": no more rows");
  const Status wrong =
      write_database(path_, [](Database& db) { return db.execute("CREATE TABLE"); });
  ASSERT_FALSE(wrong.ok());
  const Status unbound = write_database(path_, [](Database& db) -> Status {
    E4R_CHECK(db.execute("CREATE TABLE t (a NOT NULL)"));
    E4R_TRY(Statement insert, db.prepare("INSERT INTO t VALUES (?)"));
    insert.add_null();
    return insert.run();
  });
  ASSERT_FALSE(unbound.ok());
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace e4r::table
