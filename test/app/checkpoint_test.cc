// SPDX-License-Identifier: GPL-2.0-or-later
// Compares a run that begins at a checkpoint with the run from which the checkpoint was taken.
#include "replay/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/model.h"
#include "app/opened.h"
#include "replay/intake.h"
#include "replay/order_search.h"
#include "replay/quiet_points.h"
#include "replay/warm_start.h"
#include "util/rng.h"

namespace e4r::app {
namespace {

using replay::Checkpoint;
using replay::OrderSearch;
using trace::Event;

class Events final : public trace::EventSource {
 public:
  explicit Events(std::span<const Event> events) : left_(events) {}
  Result<std::span<const Event>> next() override {
    const auto out = left_.first(std::min<std::size_t>(left_.size(), 101));
    left_ = left_.subspan(out.size());
    return out;
  }

 private:
  std::span<const Event> left_;
};

std::vector<Event> all_events(const Inputs& inputs) {
  std::vector<Event> out;
  const auto cursor = inputs.trace.cursor();
  for (;;) {
    const auto batch = cursor->next();
    EXPECT_TRUE(batch.ok());
    if (!batch.ok() || batch->empty()) return out;
    out.insert(out.end(), batch->begin(), batch->end());
  }
}

// Records a line for each decision: the model's decision, and whether the kernel's result replaced
// it.
class DecisionLines final : public replay::Account {
 public:
  bool decided(const replay::Decided& one) override {
    const allocator::Decision& own = one.own;
    lines.push_back(fmt::format("{} {} {} {} {}/{}/{} {} {} {} {}", one.op.ino, own.success,
                                own.block, own.len, own.result.group, own.result.start,
                                own.result.len, own.found, own.groups_scanned,
                                static_cast<int>(own.criterion), one.forced));
    return true;
  }
  std::vector<std::string> lines;
};

replay::Setup setup_of(const Inputs& inputs, const allocator::Policy& policy) {
  replay::Setup setup = {&policy, inputs.recorded};
  setup.keep = [](replay::Accounts& accounts) { accounts.add<DecisionLines>(); };
  return setup;
}

// Returns the parts of the final state that a checkpoint stores, and the bitmaps.
std::string end_of(OrderSearch& run) {
  const auto last = Checkpoint::take(run, {});
  std::string out = last.ok() ? last->text() : last.error().message;
  std::vector<std::uint64_t> words;
  for (std::uint32_t group = 0; group < run.state().group_count(); ++group) {
    run.state().settled_words(group, words);
    const std::span<const std::uint64_t> bits = run.state().words(run.state().group(group));
    for (std::size_t i = 0; i < words.size(); ++i)
      out += fmt::format("{:x},{:x} ", words[i], bits[i]);
  }
  return out;
}

// A moment of a run: the bitmaps, and the checkpoint as a capture stores it.
struct Moment {
  std::uint64_t event = 0;  // the last event before the moment
  std::size_t decisions = 0;
  std::string text;
  std::vector<std::vector<std::uint64_t>> words;
};

Moment moment_of(const OrderSearch& run, std::uint64_t event, const Checkpoint& checkpoint) {
  Moment out = {event, run.find<DecisionLines>()->lines.size(), checkpoint.text(), {}};
  out.words.resize(run.state().group_count());
  for (std::uint32_t group = 0; group < run.state().group_count(); ++group)
    run.state().settled_words(group, out.words[group]);
  return out;
}

state::Source source_at(const Inputs& inputs, const Moment& moment) {
  state::Source out = inputs.source;
  for (std::uint32_t group = 0; group < out.groups.size(); ++group) {
    state::GroupSource& of = out.groups[group];
    if (of.corrupt) continue;
    of.words = moment.words[group];
    of.disk_free = of.init_free =
        state::bitmap::count_clear(of.words, out.geometry.clusters_per_group);
    of.block_uninit = false;
  }
  return out;
}

struct Whole {
  std::vector<std::string> lines;
  std::string end;
  std::vector<Moment> moments;
};

// Follows all events, and stores about `moments` moments, evenly spaced.
Whole follow_all(const Inputs& inputs, const allocator::Policy& policy,
                 const std::vector<Event>& events, std::size_t moments) {
  replay::WarmStart warm;
  if (inputs.warm) warm = *inputs.warm;
  OrderSearch run(inputs.source, replay::make_model(inputs.source, policy, inputs.recorded, &warm),
                  setup_of(inputs, policy),
                  {.warm = true, .discards_recorded = inputs.source.geometry.discard});
  replay::QuietPoints quiet(inputs.source.geometry.data_writeback);
  std::vector<std::pair<std::uint64_t, std::vector<std::uint32_t>>> points;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (quiet.see(events[i])) points.emplace_back(i + 1, quiet.freeing_data());
  Whole out;
  Events source(events);
  replay::OpReader ops(source, inputs.source.geometry, true, replay::kTraceOrder);
  std::size_t next = 0;
  const std::size_t step = std::max<std::size_t>(points.size() / moments, 1);
  for (;;) {
    const auto op = ops.next();
    EXPECT_TRUE(op.ok());
    if (!op.ok() || *op == nullptr) break;
    const std::size_t before = next;
    while (next < points.size() && points[next].first < (*op)->ordinal) ++next;
    if (next > before && next / step != before / step) {
      const auto kept = Checkpoint::take(run, points[next - 1].second);
      if (kept.ok()) out.moments.push_back(moment_of(run, points[next - 1].first, *kept));
    }
    EXPECT_TRUE(run.advance(**op).ok());
  }
  EXPECT_TRUE(run.end(ops).ok());
  out.lines = run.find<DecisionLines>()->lines;
  out.end = end_of(run);
  return out;
}

// Starts from a moment and follows the events after it. Expects the same decisions and the same end
// state as in the whole run.
void expect_same(const Inputs& inputs, const allocator::Policy& policy,
                 const std::vector<Event>& events, const Whole& whole, const Moment& moment) {
  SCOPED_TRACE(fmt::format("{} behind event {} of {}", policy.name, moment.event, events.size()));
  const state::Source source = source_at(inputs, moment);
  auto parsed = Checkpoint::parse(moment.text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->text(), moment.text);
  const Status fits = parsed->check(source);
  ASSERT_TRUE(fits.ok()) << fits.error().message;
  replay::WarmStart warm;
  warm.checkpoint = std::make_shared<Checkpoint>(*std::move(parsed));
  auto model = replay::make_model(source, policy, inputs.recorded, &warm);
  EXPECT_EQ(model->state().check(1), std::vector<std::string>());
  OrderSearch run(source, std::move(model), setup_of(inputs, policy),
                  {true, warm.checkpoint.get(), source.geometry.discard});
  const auto again = Checkpoint::take(run, warm.checkpoint->freeing_data);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->text(), moment.text);
  Events tail(std::span<const Event>(events).subspan(moment.event));
  replay::OpReader ops(tail, source.geometry, {true, warm.checkpoint.get()}, replay::kTraceOrder);
  for (;;) {
    const auto op = ops.next();
    ASSERT_TRUE(op.ok());
    if (*op == nullptr) break;
    ASSERT_TRUE(run.advance(**op).ok());
  }
  ASSERT_TRUE(run.end(ops).ok());
  const std::vector<std::string>& lines = run.find<DecisionLines>()->lines;
  ASSERT_EQ(lines.size(), whole.lines.size() - moment.decisions);
  for (std::size_t i = 0; i < lines.size(); ++i)
    ASSERT_EQ(lines[i], whole.lines[moment.decisions + i]) << "decision " << i + 1;
  EXPECT_EQ(end_of(run), whole.end);
}

class Captures : public testing::TestWithParam<std::string_view> {};

// Follows with the policy that decides like the recorded kernel, and with other policies, whose
// decisions are replaced by the recorded ones.
TEST_P(Captures, GoOnFromACheckpointAsTheWholeRunDoes) {
  const test::Opened opened{std::string(GetParam())};
  const Inputs& inputs = opened.inputs;
  const std::vector<Event> events = all_events(inputs);
  std::size_t moments = 0;
  for (const char* name :
       {"linear", "linux-5.15", "linux-6.1.0", "legacy", "rotalloc", "linux-6.12", "linux-7.3"}) {
    const allocator::Policy* policy = allocator::find_policy(name);
    if (policy == nullptr) continue;
    const Whole whole = follow_all(inputs, *policy, events, 6);
    moments += whole.moments.size();
    for (const Moment& moment : whole.moments) expect_same(inputs, *policy, events, whole, moment);
    if (HasFailure()) return;
  }
  EXPECT_GT(moments, 10u);
}

// A damaged checkpoint is refused, or results in some valid state.
TEST(Checkpoint, WithstandsDamage) {
  const test::Opened opened{"churn-stripe-5.15.e4c"};
  const Inputs& inputs = opened.inputs;
  const std::vector<Event> events = all_events(inputs);
  Rng rng(1);
  std::size_t refused = 0, taken = 0;
  for (const char* name : {"linux-5.15", "linux-6.1.0", "linux-7.3"}) {
    const allocator::Policy& policy = *allocator::find_policy(name);
    const Whole whole = follow_all(inputs, policy, events, 3);
    const Moment& moment = whole.moments[1];
    const state::Source source = source_at(inputs, moment);
    for (int i = 0; i < 200; ++i) {
      std::string text = moment.text;
      char& damaged = text[rng.below(text.size())];
      damaged = "0123456789 \n?-rb"[rng.below(16)];
      auto parsed = Checkpoint::parse(text);
      if (!parsed.ok() || !parsed->check(source).ok()) {
        ++refused;
        continue;
      }
      ++taken;
      replay::WarmStart warm;
      warm.checkpoint = std::make_shared<Checkpoint>(*std::move(parsed));
      auto model = replay::make_model(source, policy, inputs.recorded, &warm);
      EXPECT_EQ(model->state().check(1), std::vector<std::string>()) << text;
      OrderSearch run(source, std::move(model), setup_of(inputs, policy),
                      {true, warm.checkpoint.get()});
      const auto tail = std::span<const Event>(events).subspan(moment.event);
      Events some(tail.first(std::min<std::size_t>(tail.size(), 500)));
      EXPECT_TRUE(run.run(some).ok());
    }
  }
  EXPECT_GT(refused, 50u);
  EXPECT_GT(taken, 50u);
}

INSTANTIATE_TEST_SUITE_P(Bundled, Captures,
                         testing::Values("churn-4k.e4c", "linux618-churn-4k.e4c",
                                         "churn-stripe-5.15.e4c", "delalloc-4k-7.3.e4c",
                                         "churn-ext3-6.5.e4c", "discard-7.3.e4c",
                                         "fill-4k-enospc.e4c", "aged-1k.e4c", "writeback-8.e4c",
                                         "storm-6.1.e4c", "storm-6.12.e4c"),
                         [](const auto& which) {
                           std::string out(which.param);
                           std::ranges::replace_if(
                               out, [](char c) { return !isalnum(c); }, '_');
                           return out;
                         });

}  // namespace
}  // namespace e4r::app
