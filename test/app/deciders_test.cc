// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/setups.h"

#include <gtest/gtest.h>

namespace e4r::app {
namespace {

TEST(ParsePolicy, TakesNamesAndAliases) {
  for (const allocator::Policy* policy : allocator::policies()) {
    const auto found = parse_policy(std::string(policy->name));
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(*found, policy);
    if (policy->alias.empty()) continue;
    const auto alias = parse_policy(std::string(policy->alias));
    ASSERT_TRUE(alias.ok()) << alias.error().message;
    EXPECT_EQ(*alias, policy);
  }
}

TEST(ParsePolicy, NamesAllThereAreForOneThatIsNone) {
  const auto none = parse_policy("best");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message.rfind("unknown policy 'best': choose from ", 0), 0u);
  for (const allocator::Policy* policy : allocator::policies())
    EXPECT_NE(none.error().message.find(fmt::format(" {},", policy->name)), std::string::npos)
        << none.error().message;
  EXPECT_TRUE(none.error().message.ends_with(", kernel:FILE, and FILE.so"));
}

TEST(ParsePolicies, KeepsTheOrderAndWantsOne) {
  const auto two = parse_policies("linux-7.3,legacy");
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ((*two)[0]->name, "linux-7.3");
  EXPECT_EQ((*two)[1]->name, "legacy");
  EXPECT_FALSE(parse_policies("").ok());
  EXPECT_FALSE(parse_policies("legacy,best").ok());
}

}  // namespace
}  // namespace e4r::app
