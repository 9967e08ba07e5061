// SPDX-License-Identifier: GPL-2.0-or-later
#include "json/text.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>

namespace e4r {
namespace {

namespace json = boost::json;

TEST(JsonText, IndentsAndKeepsTheOrder) {
  const json::value value = {{"b", 1}, {"a", {true, nullptr, "x"}}, {"e", json::array()}};
  EXPECT_EQ(json_text(value), R"({
  "b": 1,
  "a": [
    true,
    null,
    "x"
  ],
  "e": []
}
)");
}

TEST(JsonText, NumbersThatJsonCannotWriteAreNull) {
  EXPECT_EQ(json_text(0.5), "0.5\n");
  EXPECT_EQ(json_text(std::numeric_limits<double>::infinity()), "null\n");
  EXPECT_EQ(json_text(std::numeric_limits<double>::quiet_NaN()), "null\n");
  EXPECT_EQ(json_text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615\n");
}

TEST(JsonText, StringsAreUtf8) {
  EXPECT_EQ(json_text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"\n");
  for (const char* bad : {"\xff", "\xc0", "\xc3", "\xed", "\xf8"})
    EXPECT_EQ(json_text(json::value(std::string(bad) + "z\n")), "\"\xef\xbf\xbdz\\n\"\n") << bad;
  EXPECT_EQ(json_text("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n");
}

TEST(JsonText, ATerminalObeysNothingOfIt) {
  EXPECT_EQ(json_text("\x1b[2J\x7f\xc2\x9b"
                      "31m\xe2\x80\xae"),
            "\"\\u001b[2J\\u007f\\u009b31m\\u202e\"\n");
}

}  // namespace
}  // namespace e4r
