// SPDX-License-Identifier: GPL-2.0-or-later
// Replays traces that the model itself recorded. The model must agree with every decision. What-if
// replays under any policy must not lose a cluster or give it to two owners.
#include "support/drivers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

#include "replay/side_by_side.h"
#include "support/model.h"
#include "support/points.h"

namespace e4r::test {
namespace {

using allocator::Policy;
using replay::Engine;
using replay::InputTable;
using replay::SideBySide;

const Policy& named(std::string_view name) {
  return *allocator::find_policy(name);
}

struct Script {
  const Policy* policy = nullptr;
  ModelShape shape;
  std::uint64_t seed = 1;
  bool inputs = false;
  bool tight = false;  // sometimes runs out of space
  std::uint32_t steps = 300;
};

using Bitmaps = std::vector<std::vector<std::uint64_t>>;

Bitmaps settled(const state::FsState& state) {
  Bitmaps out(state.group_count());
  for (std::uint32_t group = 0; group < state.group_count(); ++group)
    state.settled_words(group, out[group]);
  return out;
}

std::string differing_groups(const Bitmaps& a, const Bitmaps& b) {
  std::string out;
  for (std::size_t group = 0; group < a.size(); ++group)
    if (a[group] != b[group]) out += fmt::format(" {}", group);
  return out;
}

// A recorded run. Stores its state in the middle, when files still exist, and at the end, when all
// files are deleted.
class Recording {
 public:
  explicit Recording(const Script& script)
      : fs_(script.shape), tunables_(allocator::defaults_for(fs_.geometry())) {
    Rng rng(script.seed);
    const std::uint32_t all = script.shape.groups * script.shape.clusters_per_group;
    ModelFiles old = add_old_files(fs_, rng, 8, script.tight ? all / 10 : all / 40, 30);
    fs_.leave_uninit(rng, 40);
    state_ = std::make_unique<state::FsState>(fs_.source(),
                                              allocator::group_index(*script.policy, tunables_));
    allocator_ = std::make_unique<allocator::Allocator>(*state_, *script.policy, tunables_);
    WorkloadOptions options;
    options.seed = script.seed;
    options.inputs = script.inputs;
    options.largest = script.tight ? all / 12 : std::max(all / 150, 20u);
    options.most_files = script.tight ? 60 : 40;
    work_ = std::make_unique<Workload>(*allocator_, fs_, std::move(old), options);
    work_->run(script.steps);
    work_->commit_everything();
    middle_ = work_->events().size();
    files_ = work_->files();
    in_use_ = settled(*state_);
    work_->delete_everything();
    final_ = settled(*state_);
  }

  [[nodiscard]] const ModelFs& fs() const { return fs_; }
  [[nodiscard]] ModelFs& fs() { return fs_; }
  [[nodiscard]] const allocator::Tunables& tunables() const { return tunables_; }
  [[nodiscard]] std::span<const trace::Event> middle() const {
    return std::span(work_->events()).first(middle_);
  }
  [[nodiscard]] std::span<const trace::Event> whole() const { return work_->events(); }
  [[nodiscard]] const ModelFiles& files() const { return files_; }  // in the middle of the run
  [[nodiscard]] const Bitmaps& in_use() const { return in_use_; }   // in the middle of the run
  [[nodiscard]] const Bitmaps& final_bitmaps() const { return final_; }
  [[nodiscard]] const state::FsState& state() const { return *state_; }
  [[nodiscard]] const Workload& work() const { return *work_; }

 private:
  ModelFs fs_;
  allocator::Tunables tunables_;
  std::unique_ptr<state::FsState> state_;
  std::unique_ptr<allocator::Allocator> allocator_;
  std::unique_ptr<Workload> work_;
  std::size_t middle_ = 0;
  ModelFiles files_;
  Bitmaps in_use_;
  Bitmaps final_;
};

std::unique_ptr<Engine> run(Recording& recording, std::span<const trace::Event> events,
                            const Policy& policy, Driver driver, InputTable& inputs,
                            const allocator::Tunables& tunables) {
  auto [engine, status] = replay_as(driver, recording.fs().source(), policy, tunables, events,
                                    inputs, checked_every(251));
  EXPECT_TRUE(status.ok()) << status.error().message;
  return std::move(engine);
}

std::unique_ptr<Engine> run(Recording& recording, std::span<const trace::Event> events,
                            const Policy& policy, Driver driver, InputTable& inputs) {
  return run(recording, events, policy, driver, inputs, recording.tunables());
}

void expect_identical(const Engine& engine) {
  const replay::Agreement& agreement = engine.agreement();
  EXPECT_GT(agreement.requests, 0u);
  EXPECT_EQ(agreement.identical, agreement.requests);
  EXPECT_EQ(agreement.forced, 0u);
  EXPECT_EQ(agreement.conflicts, 0u);
  EXPECT_EQ(engine.tally().bad_frees, 0u);
  EXPECT_EQ(engine.contradictions().outside, 0u);
  if (const auto* d = agreement.first_divergence())
    ADD_FAILURE() << "event " << d->event << ": " << d->fields << "\n  recorded " << d->recorded
                  << "\n  modelled " << d->modelled;
}

void expect_same_groups(const state::FsState& a, const state::FsState& b) {
  for (std::uint32_t number = 0; number < a.group_count(); ++number) {
    const state::Group& x = a.group(number);
    const state::Group& y = b.group(number);
    EXPECT_EQ(x.free, y.free) << "group " << number;
    EXPECT_EQ(x.fragments, y.fragments) << "group " << number;
    EXPECT_EQ(x.counters, y.counters) << "group " << number;
    EXPECT_EQ(x.need_init, y.need_init) << "group " << number;
    EXPECT_EQ(x.disk_free, y.disk_free) << "group " << number;
    EXPECT_EQ(x.block_uninit, y.block_uninit) << "group " << number;
  }
}

// Checks that every cluster of a recorded file is in its recorded place.
void expect_recorded_layout(const Recording& recording, const Engine& engine) {
  const Geometry& geometry = recording.fs().geometry();
  std::uint64_t blocks = 0;
  for (const auto& [ino, file] : recording.files()) {
    for (const auto& [cluster, block] : file.clusters) {
      if (file.old.contains(cluster)) continue;
      const auto replayed = engine.files().find(ino);
      ASSERT_NE(replayed, engine.files().end()) << "inode " << ino;
      const std::uint64_t logical = geometry.to_blocks(cluster);
      const FileExtent* e = replayed->second.find(logical);
      ASSERT_NE(e, nullptr) << "inode " << ino << " cluster " << cluster;
      ASSERT_EQ(e->block + (logical - e->logical), block) << "inode " << ino << " at " << cluster;
      blocks += geometry.to_blocks(1);
    }
  }
  for (const auto& [ino, layout] : engine.files())
    for (const FileExtent& e : layout.extents()) blocks -= e.len;
  EXPECT_EQ(blocks, 0u) << "the replay has mapped more or less than was recorded";
}

// The owners of clusters: the start image's metadata, the remains of old files, and the files of
// the replay. Adding an owner fails if a cluster already has an owner or is free in the bitmap.
class Owners {
 public:
  Owners(const Recording& recording, const Engine& engine)
      : geometry_(recording.fs().geometry()), in_use_(settled(engine.state())) {
    for (std::uint32_t group = 0; group < geometry_.groups; ++group)
      for (std::uint32_t at = 0; at < ModelFs::kMetadata; ++at)
        claim(geometry_.block_of(group, at), "metadata");
    for (const auto& [ino, file] : recording.files()) {
      for (const auto& [cluster, block] : file.old) claim(block, "an old file");
      for (const auto& [block, len] : file.metadata) metadata_ += len;
    }
    for (const auto& [ino, layout] : engine.files())
      for (const FileExtent& e : layout.extents())
        for (std::uint64_t b = 0; b < e.len; b += geometry_.to_blocks(1))
          claim(e.block + b, "a replayed file");
  }

  // Returns the number of clusters in use without a known owner, not counting the metadata that the
  // trace allocated.
  [[nodiscard]] std::int64_t unowned() const {
    std::int64_t used = 0;
    for (std::uint32_t group = 0; group < geometry_.groups; ++group)
      used += geometry_.clusters_in(group) -
              state::bitmap::count_clear(in_use_[group], geometry_.clusters_per_group);
    return used - static_cast<std::int64_t>(owned_.size()) - metadata_;
  }

 private:
  void claim(std::uint64_t block, const char* what) {
    EXPECT_TRUE(owned_.insert(block).second) << "block " << block << " of " << what << " is shared";
    EXPECT_TRUE(
        state::bitmap::test(in_use_[geometry_.group_of(block)], geometry_.cluster_in_group(block)))
        << "block " << block << " of " << what << " is free";
  }

  state::MountedGeometry geometry_;
  Bitmaps in_use_;
  std::set<std::uint64_t> owned_;
  std::int64_t metadata_ = 0;
};

// Checks that every cluster that the recorded kernel allocated has a place in the replay.
void expect_everything_mapped(const Recording& recording, const Engine& engine) {
  const Geometry& geometry = recording.fs().geometry();
  std::uint64_t missing = 0;
  for (const auto& [ino, file] : recording.files()) {
    const auto replayed = engine.files().find(ino);
    for (const auto& [cluster, block] : file.clusters) {
      if (file.old.contains(cluster)) continue;
      if (replayed == engine.files().end() ||
          replayed->second.find(geometry.to_blocks(cluster)) == nullptr)
        ++missing;
    }
  }
  EXPECT_EQ(missing, 0u);
}

// Returns the other policies, and all policies with changed tunables.
std::vector<std::pair<const Policy*, allocator::Tunables>> alternatives(
    const Recording& recording) {
  std::vector<std::pair<const Policy*, allocator::Tunables>> out;
  for (const Policy* policy : allocator::policies()) {
    const allocator::Tunables& t = recording.tunables();
    if (policy->name != "legacy") out.emplace_back(policy, t);
    out.emplace_back(policy, t).second.mb_group_prealloc = 40;
    out.back().second.mb_max_to_scan = 3;
    out.emplace_back(policy, t).second.mb_stream_req = 0;
    out.back().second.mb_max_linear_groups = 4;
  }
  return out;
}

class EngineTest : public testing::TestWithParam<std::tuple<ModelShape, bool>> {
 protected:
  [[nodiscard]] Script script(const char* policy, std::uint64_t seed, bool inputs = false) const {
    return {&named(policy), std::get<0>(GetParam()), seed, inputs, std::get<1>(GetParam())};
  }
  // Returns whether this shape is tested with the entry of this index in a list. A shape is tested
  // with a fifth of the entries, chosen by the shape and the seed, so that each entry is tested
  // with some shape.
  [[nodiscard]] static bool is_tried_here(std::size_t index, std::uint64_t seed) {
    const std::string_view shape = std::get<0>(GetParam()).name;
    return is_tried(std::accumulate(shape.begin(), shape.end(), index + seed));
  }
};

TEST_P(EngineTest, AgreesWithItsOwnTrace) {
  for (const char* name : {"linear", "legacy"}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(std::string(name) + " seed " + std::to_string(seed));
      Recording recording(script(name, seed));
      ASSERT_TRUE(recording.work().problems().empty()) << recording.work().problems().front();
      InputTable inputs;
      const auto agree = run(recording, recording.whole(), named(name), Driver::follow, inputs);
      expect_identical(*agree);
      EXPECT_EQ(agree->tally().failed, recording.work().failed());
      expect_same_groups(agree->state(), recording.state());
      const auto alone = run(recording, recording.whole(), named(name), Driver::free_run, inputs);
      expect_identical(*alone);
      expect_same_groups(alone->state(), recording.state());
    }
  }
}

// If the trace contains file sizes, no policy needs to deduce inputs.
TEST_P(EngineTest, AgreesUnderEveryPolicyWhenInputsAreRecorded) {
  std::size_t index = 0;
  for (const Policy* policy : allocator::policies()) {
    ++index;
    for (std::uint64_t seed = 5; seed <= 6; ++seed) {
      if (!is_tried_here(index, seed)) continue;
      SCOPED_TRACE(std::string(policy->name) + " seed " + std::to_string(seed));
      Recording recording(script(policy->name.data(), seed, true));
      InputTable inputs;
      const auto agree = run(recording, recording.whole(), *policy, Driver::follow, inputs);
      expect_identical(*agree);
      expect_same_groups(agree->state(), recording.state());
    }
  }
}

TEST_P(EngineTest, WhatIfUnderTheRecordedPolicyChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Recording recording(script("legacy", seed));
    InputTable inputs;
    (void)run(recording, recording.middle(), named("legacy"), Driver::follow, inputs);
    const auto same = run(recording, recording.middle(), named("legacy"), Driver::what_if, inputs);
    EXPECT_EQ(same->tally().bad_frees, 0u);
    EXPECT_EQ(same->tally().extra, 0u);
    EXPECT_EQ(same->tally().absorbed, 0u);
    expect_recorded_layout(recording, *same);
    EXPECT_EQ(differing_groups(settled(same->state()), recording.in_use()), "");
  }
}

TEST_P(EngineTest, WhatIfSharesAndLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Recording recording(script("legacy", seed));
    InputTable inputs;
    (void)run(recording, recording.whole(), named("legacy"), Driver::follow, inputs);
    std::size_t index = 0;
    for (const auto& [policy, tunables] : alternatives(recording)) {
      if (!is_tried_here(++index, seed)) continue;
      SCOPED_TRACE(std::string(policy->name) + " seed " + std::to_string(seed) + " prealloc " +
                   std::to_string(tunables.mb_group_prealloc));
      const auto half =
          run(recording, recording.middle(), *policy, Driver::what_if, inputs, tunables);
      EXPECT_EQ(half->tally().bad_frees, 0u);
      EXPECT_EQ(half->contradictions().outside, 0u);
      const Owners owners(recording, *half);
      if (half->tally().failed == 0) {
        expect_everything_mapped(recording, *half);
        EXPECT_EQ(owners.unowned(), 0);
      }
      const auto full =
          run(recording, recording.whole(), *policy, Driver::what_if, inputs, tunables);
      EXPECT_EQ(full->tally().bad_frees, 0u);
      EXPECT_EQ(differing_groups(settled(full->state()), recording.final_bitmaps()), "");
    }
  }
}

// Serves the writers in a random order, which differs from the recorded one.
void take_turns(SideBySide& replay, unsigned writers, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<unsigned> busy;
  for (unsigned writer = 0; writer < writers; ++writer) busy.push_back(writer);
  while (!busy.empty()) {
    const std::size_t at = rng.below(busy.size());
    const auto next = replay.next(busy[at]);
    ASSERT_TRUE(next.ok()) << next.error().message;
    if (!*next) {
      busy.erase(busy.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    // The chosen writer sometimes makes several requests before the others, as on a shared CPU.
    for (std::uint64_t more = rng.below(20); more > 0 && *replay.next(busy[at]); --more)
      ASSERT_TRUE(replay.serve(busy[at]).ok());
  }
  EXPECT_TRUE(replay.finish().ok());
}

TEST_P(EngineTest, WritersSideBySideShareAndLoseNothing) {
  const Policy& policy = named("linux-6.12");
  Recording recording(script("legacy", 1));
  InputTable inputs;
  (void)run(recording, recording.whole(), named("legacy"), Driver::follow, inputs);
  const auto served = [&](std::span<const trace::Event> events, unsigned writers) {
    MemorySource stream(events);
    auto ops = replay::read_ops(stream, recording.fs().geometry(), false, inputs.schedule);
    EXPECT_TRUE(ops.ok());
    struct Served {
      replay::OpList ops;
      std::unique_ptr<SideBySide> replay;
      [[nodiscard]] const Engine& engine() const { return replay->engine(); }
    };
    auto out = std::make_unique<Served>();
    out->ops = *std::move(ops);
    replay::Setup setup;
    setup.writers = replay::assign_files(out->ops, writers);
    auto engine = std::make_unique<replay::WhatIf>(
        recording.fs().source(),
        replay::make_model(recording.fs().source(), policy, recording.tunables(), nullptr), setup,
        replay::TraceFacts{}, inputs);
    out->replay = std::make_unique<SideBySide>(out->ops, std::move(engine), *setup.writers);
    take_turns(*out->replay, writers, 7);
    EXPECT_EQ(out->engine().tally().bad_frees, 0u);
    EXPECT_EQ(out->engine().state().check(1), std::vector<std::string>());
    return out;
  };
  InputTable same = inputs;
  const auto alone = run(recording, recording.whole(), policy, Driver::what_if, same);
  EXPECT_EQ(served(recording.whole(), 1)->engine().hash().value(), alone->hash().value());
  for (const unsigned writers : {2u, 7u}) {
    const auto half = served(recording.middle(), writers);
    const Owners owners(recording, half->engine());
    if (half->engine().tally().failed == 0) {
      expect_everything_mapped(recording, half->engine());
      EXPECT_EQ(owners.unowned(), 0);
    }
    const auto full = served(recording.whole(), writers);
    EXPECT_EQ(differing_groups(settled(full->engine().state()), recording.final_bitmaps()), "");
  }
}

std::vector<ModelShape> chosen_shapes() {
  std::vector<ModelShape> out;
  for (const char* name :
       {"blocks_2k_no_flex", "blocks_4k_forty_groups", "bigalloc_16_of_1k", "bigalloc_4_of_4k",
        "odd_group_size", "tiny_groups", "one_group", "two_groups", "no_journal", "no_checksums",
        "stripe_16", "stripe_24_flex", "no_extents"})
    out.push_back(model_shape(name));
  return out;
}

INSTANTIATE_TEST_SUITE_P(Shapes, EngineTest,
                         testing::Combine(testing::ValuesIn(chosen_shapes()), testing::Bool()),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param).name) +
                                  (std::get<1>(tested.param) ? "_tight" : "_roomy");
                         });

}  // namespace
}  // namespace e4r::test
