// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "watch/half_seen.h"

namespace e4r::test {
namespace {

using watch::GroupsCheck;
using watch::GroupsComparison;
using watch::KernelGroups;

// A model in the state of a start image, and the kernel's groups at that moment.
class GroupsChecks : public testing::Test {
 protected:
  GroupsChecks()
      : half_("linux-7.3"),
        start_(half_.start(true)),
        model_(replay::make_model(half_.source(), *start_.policy, start_.tunables, &start_.warm)) {
    kernel_.after_ns = 9;
    kernel_.groups = half_.groups();
    // These tests ignore state in memory that no event shows.
    for (state::MbGroup& line : kernel_.groups) line = shown_of(model_->state().group(line.number));
  }

  // Takes a free cluster of the group in the model.
  void take_one(std::uint32_t number) {
    state::Group& group = model_->own_state().group(number);
    const auto words = model_->own_state().words(group);
    for (std::uint32_t at = 0;; ++at)
      if (!state::bitmap::test(words, at)) {
        (void)model_->own_state().take(group, at, 1);
        return;
      }
  }

  HalfSeen half_;
  watch::StartPoint start_;
  std::unique_ptr<allocator::Model> model_;
  KernelGroups kernel_;
};

TEST_F(GroupsChecks, FindNothingWhereNothingDiffers) {
  const GroupsCheck check = GroupsComparison(model_->state()).compare(kernel_, *model_);
  EXPECT_EQ(check.compared, kernel_.groups.size());
  EXPECT_EQ(check.changed, 0u);
  EXPECT_TRUE(check.differing.empty()) << check.first;
  EXPECT_EQ(check.time_ns, 9u);
}

TEST_F(GroupsChecks, NameTheGroupsThatDiffer) {
  const GroupsComparison comparison(model_->state());
  kernel_.groups[7].free += 3;
  kernel_.groups[12].fragments += 1;
  const GroupsCheck check = comparison.compare(kernel_, *model_);
  EXPECT_EQ(check.differing, (std::vector<std::uint32_t>{7, 12}));
  EXPECT_EQ(check.first.find("group 7: free clusters "), 0u) << check.first;
  EXPECT_EQ(check.compared, kernel_.groups.size());
}

// At the start, the kernel held clusters in groups 7 and 9 in memory, and no event has shown them
// since. For group 9, the counters show which clusters these are.
TEST_F(GroupsChecks, SayNothingOfAGroupThatNothingHasExplained) {
  kernel_.groups[7].free -= 3;
  replay::WarmStart warm;
  warm.groups = kernel_.groups;
  warm.hidden = {{9, 0, {{{1, 2}}}}};
  const auto unexplained = watch::find_unexplained(model_->state(), warm);
  EXPECT_EQ(std::ranges::count(unexplained, true), 2);
  EXPECT_TRUE(unexplained.at(7));
  EXPECT_TRUE(unexplained.at(9));
  kernel_.groups[12].fragments += 1;
  const GroupsCheck check =
      GroupsComparison(model_->state()).compare(kernel_, *model_, unexplained);
  EXPECT_EQ(check.differing, std::vector<std::uint32_t>{12});
  EXPECT_EQ(check.unexplained, 1u);
  EXPECT_EQ(check.compared, kernel_.groups.size() - 1);
}

// If a group changed during the comparison, the kernel may have printed it before or after the
// change.
TEST_F(GroupsChecks, SayNothingOfAGroupThatChangedMeanwhile) {
  const GroupsComparison comparison(model_->state());
  take_one(5);
  const GroupsCheck check = comparison.compare(kernel_, *model_);
  EXPECT_TRUE(check.differing.empty()) << check.first;
  EXPECT_EQ(check.changed, 1u);
  EXPECT_EQ(check.compared, kernel_.groups.size() - 1);
}

TEST_F(GroupsChecks, SayNothingOfAGroupThatACommitGivesBackTo) {
  take_one(5);
  const GroupsComparison before_commit(model_->state());
  state::FsState& state = model_->own_state();
  std::uint32_t used = 0;
  while (!state::bitmap::test(state.words(state.group(6)), used) || !model_->free(6, used, 1, true))
    ++used;
  const GroupsComparison comparison(model_->state());
  kernel_.groups[5] = shown_of(state.group(5));
  kernel_.groups[6].free += 1;
  EXPECT_EQ(comparison.compare(kernel_, *model_).differing, std::vector<std::uint32_t>{6});
  model_->begin_commit();
  EXPECT_TRUE(comparison.compare(kernel_, *model_).differing.empty());
}

}  // namespace
}  // namespace e4r::test
