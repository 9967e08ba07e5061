// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/condition.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace e4r {
namespace {

ConditionNames names_of() {
  ConditionNames out;
  out.fractions = true;
  out.words = {{"policy", [](std::string_view written) -> Result<std::string> {
                  return std::string(written);
                }}};
  out.figure = [](std::string_view name) -> Result<std::size_t> {
    if (name == "a" || name == "2^n") return 0;
    if (name == "base:a") return 1;
    if (name == "none") return 2;
    return error("no figure '{}'", name);
  };
  return out;
}

// Evaluates a condition, in which a is 12, base:a is 10.5, and the figure `none` has no value.
std::optional<bool> holds(std::string_view text) {
  const auto condition = Condition::parse(text, names_of());
  EXPECT_TRUE(condition.ok()) << text << ": " << (condition.ok() ? "" : condition.error().message);
  if (!condition.ok()) return std::nullopt;
  return condition->holds({[](std::size_t index) -> std::optional<Condition::Number> {
                             if (index == 0) return std::uint64_t(12);
                             if (index == 1) return 10.5;
                             return std::nullopt;
                           },
                           {"legacy"}});
}

std::string mistake_in(std::string_view text) {
  const auto condition = Condition::parse(text, names_of());
  return condition.ok() ? "none" : condition.error().message;
}

TEST(Condition, ComparesCountsAndFractions) {
  EXPECT_EQ(holds("a == 12"), true);
  EXPECT_EQ(holds("base:a == 10.5"), true);
  EXPECT_EQ(holds("a > base:a"), true);
  EXPECT_EQ(holds("a <= 11.99"), false);
  EXPECT_EQ(holds("'2^n' == 12"), true) << "a name in quotes";
}

TEST(Condition, FiguresMayHaveAFactor) {
  EXPECT_EQ(holds("a > 1.1 * base:a"), true);
  EXPECT_EQ(holds("a > 1.2*base:a"), false);
  EXPECT_EQ(holds("base:a * 2 == 21"), true);
  EXPECT_EQ(mistake_in("a > a * a"), "at 7: only a number times a name can be here");
  EXPECT_EQ(mistake_in("a > 2 * 3"), "at 7: only a number times a name can be here");
  EXPECT_EQ(mistake_in("a > policy * 2"), "at 12: only a number times a name can be here");
  EXPECT_EQ(mistake_in("a > 2 *"), "at 8: it ends where a name or a number should be");
}

TEST(Condition, AnAbsentFigureIsUnknown) {
  EXPECT_EQ(holds("none > 1"), std::nullopt);
  EXPECT_EQ(holds("!(none > 1)"), std::nullopt);
  EXPECT_EQ(holds("2 * none > a"), std::nullopt);
  EXPECT_EQ(holds("none > 1 && a == 12"), std::nullopt);
  EXPECT_EQ(holds("none > 1 || a == 13"), std::nullopt);
}

TEST(Condition, IsKnownIfTheAbsentFigureDoesNotMatter) {
  EXPECT_EQ(holds("none > 1 && a == 13"), false);
  EXPECT_EQ(holds("a == 12 || none > 1"), true);
  EXPECT_EQ(holds("policy == cr1.5 && none > 1"), false);
}

TEST(Condition, TellsItsFigures) {
  const auto condition = Condition::parse("base:a > 3 && (a < 4 || base:a == a)", names_of());
  ASSERT_TRUE(condition.ok());
  EXPECT_EQ(condition->figures(), (std::vector<std::size_t>{1, 0}));
}

TEST(Condition, NumbersArePlain) {
  EXPECT_EQ(mistake_in("a > 1e3"), "at 5: no figure '1e3'");
  EXPECT_EQ(mistake_in("a > 1.2.3"), "at 5: no figure '1.2.3'");
  EXPECT_EQ(mistake_in("a > -1"), "at 5: no figure '-1'");
  EXPECT_EQ(mistake_in("a > ."), "at 5: no figure '.'");
}

}  // namespace
}  // namespace e4r
