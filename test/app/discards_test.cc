// SPDX-License-Identifier: GPL-2.0-or-later
// Compares the discards that kernels sent with the discards that their models send while they
// follow the capture. Covers mounts with discard, and FITRIM.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "app/opened.h"
#include "replay/engine.h"

namespace e4r::app {
namespace {

using Sent = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Sent recorded(const Inputs& inputs) {
  Sent out;
  const auto events = inputs.trace.cursor();
  for (;;) {
    const auto batch = events->next();
    if (!batch.ok() || batch->empty()) return out;
    for (const trace::Event& event : *batch)
      if (event.kind == trace::EventKind::discard_blocks)
        out.emplace_back(event.block, event.count);
  }
}

class DiscardsOf : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(DiscardsOf, AKernelAreThoseOfItsModel) {
  const auto [name, policy] = GetParam();
  test::Opened opened(name);
  const Inputs& inputs = opened.inputs;
  replay::Session session = opened.session();
  const replay::Setup setup = make_setup(*allocator::find_policy(policy), inputs.recorded, inputs);
  const Sent expected = recorded(inputs);
  ASSERT_GT(expected.size(), 100u);
  const auto sent_by = [](const replay::Run& run) {
    Sent out;
    for (const BlockRange& range : run.engine->discards()->sent())
      out.emplace_back(range.first, range.count);
    return out;
  };
  const auto followed = session.follow(setup);
  ASSERT_TRUE(followed.ok()) << followed.error().message;
  EXPECT_EQ(sent_by(*followed), expected);
  EXPECT_EQ(followed->engine->recorded_discards(), followed->engine->discards()->counts());
  EXPECT_EQ(followed->engine->agreement().identical, followed->engine->agreement().requests);
  const auto alone = session.free_run(setup);
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_EQ(sent_by(*alone), expected);
}

INSTANTIATE_TEST_SUITE_P(Kernels, DiscardsOf,
                         testing::Values(std::pair("discard-6.1.e4c", "legacy"),
                                         std::pair("discard-7.3.e4c", "linux-7.3"),
                                         std::pair("fitrim-6.1.e4c", "legacy"),
                                         std::pair("fitrim-7.3.e4c", "linux-7.3")));

}  // namespace
}  // namespace e4r::app
