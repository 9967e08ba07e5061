// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/plan.h"

#include <gtest/gtest.h>

#include <array>

namespace e4r::sweep {
namespace {

const Vocabulary kKnown = {{"mb_order2_req", "mb_stripe"}, {"legacy", "cr1.5"}, {"a.e4c", "b c"}};

bool holds(std::string_view text, std::uint64_t order, std::uint64_t stripe,
           std::string_view policy = "legacy", std::string_view capture = "a.e4c") {
  const auto where = Where::parse(text, kKnown);
  EXPECT_TRUE(where.ok()) << text << ": " << (where.ok() ? "" : where.error().message);
  const std::array<std::uint64_t, 2> values = {order, stripe};
  return where.ok() && where->holds({values, policy, capture});
}

std::string mistake_in(std::string_view text) {
  const auto where = Where::parse(text, kKnown);
  return where.ok() ? "none" : where.error().message;
}

TEST(Where, NothingHoldsForAll) {
  EXPECT_TRUE(holds("", 1, 2));
  EXPECT_TRUE(holds(" \t", 1, 2));
}

TEST(Where, ComparesTunablesWithNumbers) {
  for (const std::uint64_t value : {2u, 3u, 4u}) {
    EXPECT_EQ(holds("mb_order2_req == 3", value, 0), value == 3);
    EXPECT_EQ(holds("mb_order2_req != 3", value, 0), value != 3);
    EXPECT_EQ(holds("mb_order2_req<3", value, 0), value < 3);
    EXPECT_EQ(holds("mb_order2_req <= 3", value, 0), value <= 3);
    EXPECT_EQ(holds("mb_order2_req>3", value, 0), value > 3);
    EXPECT_EQ(holds("mb_order2_req >=3", value, 0), value >= 3);
    EXPECT_EQ(holds("3 > mb_order2_req", value, 0), value < 3);
  }
}

TEST(Where, ComparesTunablesWithEachOther) {
  EXPECT_TRUE(holds("mb_order2_req < mb_stripe", 1, 2));
  EXPECT_FALSE(holds("mb_order2_req < mb_stripe", 2, 2));
}

TEST(Where, NamesPoliciesAndCaptures) {
  EXPECT_TRUE(holds("policy == legacy", 0, 0));
  EXPECT_FALSE(holds("policy == cr1.5", 0, 0));
  EXPECT_TRUE(holds("policy != 'cr1.5'", 0, 0));
  EXPECT_TRUE(holds("linux-6.1 == policy", 0, 0)) << "an alias";
  EXPECT_TRUE(holds("capture == a.e4c", 0, 0));
  EXPECT_TRUE(holds("capture == \"b c\"", 0, 0, "legacy", "b c"));
}

TEST(Where, AndBindsMoreTightlyThanOr) {
  const char* const plain = "mb_stripe == 1 || mb_stripe == 2 && policy == cr1.5";
  EXPECT_TRUE(holds(plain, 0, 1));
  EXPECT_FALSE(holds(plain, 0, 2));
  const char* const grouped = "(mb_stripe == 1 || mb_stripe == 2) && policy == cr1.5";
  EXPECT_FALSE(holds(grouped, 0, 1));
  EXPECT_TRUE(holds(grouped, 0, 2, "cr1.5"));
}

TEST(Where, TurnsRound) {
  EXPECT_FALSE(holds("!(mb_stripe == 1)", 0, 1));
  EXPECT_TRUE(holds("!!(mb_stripe == 1)", 0, 1));
  EXPECT_TRUE(holds("! mb_stripe == 1 && mb_order2_req == 5", 5, 2)) << "of the comparison alone";
}

TEST(Where, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(mistake_in("mb_stripe = 1"), "at 11: '=' is unexpected here: equal is ==");
  EXPECT_EQ(mistake_in("mb_stripe == 1 & policy == legacy"),
            "at 16: '&' is unexpected here: and is &&");
  EXPECT_EQ(mistake_in("mb_stripe"), "at 10: a comparison is missing: == != < <= > or >=");
  EXPECT_EQ(mistake_in("mb_stripe =="), "at 13: it ends where a name or a number should be");
  EXPECT_EQ(mistake_in("mb_stripe == && 1"), "at 14: '&&' where a name or a number should be");
  EXPECT_EQ(mistake_in("(mb_stripe == 1"), "at 16: a ')' is missing for the '(' at 1");
  EXPECT_EQ(mistake_in("mb_stripe == 1)"), "at 15: there is no '(' for this ')'");
  EXPECT_EQ(mistake_in("mb_stripe == 1 policy == legacy"),
            "at 16: && or || is missing before this");
  EXPECT_EQ(mistake_in("1 == 1"), "at 3: a number is compared with a number");
  EXPECT_EQ(mistake_in("policy < legacy"), "at 8: policy is compared with == or != only");
  EXPECT_EQ(mistake_in("policy == best"),
            "at 11: no policy 'best' in this sweep: it has legacy, cr1.5");
  EXPECT_EQ(mistake_in("capture == x"), "at 12: no capture 'x' in this sweep: it has a.e4c, b c");
  EXPECT_EQ(mistake_in("mb_strip == 1"),
            "at 1: 'mb_strip' is neither a number nor a tunable set with --set: it gives "
            "mb_order2_req, mb_stripe");
  EXPECT_EQ(mistake_in("mb_stripe == 99999999999999999999").substr(0, 40),
            "at 14: '99999999999999999999' is neither");
  EXPECT_EQ(mistake_in("policy == 'legacy"), "at 11: the quote is not closed");
}

TEST(Where, DepthIsBounded) {
  EXPECT_NE(mistake_in(std::string(1000, '(') + "mb_stripe == 1").find("within each other"),
            std::string::npos);
  EXPECT_NE(mistake_in(std::string(1000, '!') + "mb_stripe == 1").find("within each other"),
            std::string::npos);
  EXPECT_EQ(mistake_in(std::string(5000, ' ') + "mb_stripe == 1"), "more than 4096 bytes");
  EXPECT_EQ(mistake_in(std::string(99, '(') + "mb_stripe == 1" + std::string(99, ')')), "none");
}

// If the text is truncated at any place, or if any byte is replaced, parsing must end with a result
// or an error.
TEST(Where, EveryPrefixAndEveryByteIsAnswered) {
  const std::string text = "!(mb_stripe >= 1 || policy == 'cr1.5') && capture != a.e4c";
  for (std::size_t at = 0; at < text.size(); ++at) {
    (void)mistake_in(text.substr(0, at));
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(byte);
      (void)mistake_in(damaged);
    }
  }
  EXPECT_EQ(mistake_in(text), "none");
}

}  // namespace
}  // namespace e4r::sweep
