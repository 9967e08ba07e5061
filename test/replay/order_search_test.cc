// SPDX-License-Identifier: GPL-2.0-or-later
// Tests that the order of overlapping allocations is found. A model makes the traces: it takes each
// decision at a random moment between the request and its closing event.
#include "replay/order_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "allocator/model.h"
#include "replay/session.h"
#include "replay/warm_start.h"
#include "support/busy_fs.h"
#include "support/model.h"
#include "trace/packed.h"
#include "util/rng.h"

namespace e4r::test {
namespace {

using trace::EventKind;

// Several threads allocate and free at the same time. A thread may use a stream goal that it read
// before another thread moved the goal.
class Writers {
 public:
  Writers(std::string_view policy, unsigned threads, std::uint64_t seed)
      : fs_(model_shape("blocks_4k_forty_groups")),
        tunables_(allocator::defaults_for(fs_.geometry())),
        rng_(seed) {
    tunables_.possible_cpus = 2;
    model_.emplace(fs_.source(), *allocator::find_policy(policy), tunables_);
    stream_goals_ = model_->policy().kernel.stream.by_inode ? 2 : 1;
    for (std::uint32_t group = 0; group < fs_.geometry().groups; ++group) {
      model_->load_by_others(group);
      trace_.add_load({}, group);
    }
    for (unsigned i = 0; i < threads; ++i)
      threads_.emplace_back().thread = {i + 1, static_cast<std::uint16_t>(i)};
  }

  // Chooses a thread at random and takes its next step.
  void step() {
    Writer& writer = threads_[rng_.below(threads_.size())];
    if (!writer.open)
      rng_.below(4) == 0 && !writer.extents.empty() ? free(writer) : ask(writer);
    else if (!writer.made)
      decide(writer);
    else
      answer(writer);
  }
  void commit() {
    trace_.add_commit(EventKind::commit_flushing, ++transaction_);
    began_ = trace_.events().size();
    model_->begin_commit();
  }
  // The commit returns the clusters that were freed before a random event.
  void commit_partly() { commit_until(rng_.below(trace_.events().size()) + 1); }
  // The commit returns this share of the clusters that were freed before it began.
  void commit_share(double share) {
    commit_until(static_cast<std::uint64_t>(share * static_cast<double>(began_)));
  }
  // From now on, a free may take effect after another thread's free whose event comes later.
  void free_late() { frees_late_ = true; }
  // From now on, a search may skip groups near its goal because other CPUs hold their locks.
  void hold_locks() { locked_ = true; }
  // From now on, the trace has the events of the recorder's probes.
  void probe() { probed_ = true; }
  void end_commit() {
    model_->end_commit();
    trace_.add_commit(EventKind::end_commit, transaction_);
  }
  void finish() {
    for (Writer& writer : threads_) {
      if (writer.open && !writer.made) decide(writer);
      if (writer.open) answer(writer);
    }
  }

  // Returns the agreement with the trace when following it, and in a free-running replay.
  [[nodiscard]] std::pair<replay::Agreement, replay::Agreement> follow() {
    replay::Session session(fs_.source(), packed_trace(trace_.events(), trace::Generation::v6_5),
                            {});
    replay::Setup setup = {&model_->policy(), tunables_};
    setup.check_every = replay::Setup::kOften;
    const auto both = session.follow(setup);
    const auto alone = session.free_run(setup);
    EXPECT_TRUE(both.ok() && alone.ok());
    return {both->engine->agreement(), alone->engine->agreement()};
  }
  // A search, and a run that follows in the order that the search found.
  struct SearchAndAfter {
    std::unique_ptr<replay::OrderSearch> search;
    std::unique_ptr<replay::Follow> after;
  };
  [[nodiscard]] SearchAndAfter search(bool repeats_commits = true) {
    const trace::PackedTrace trace = packed_trace(trace_.events(), trace::Generation::v6_5);
    const replay::Setup setup = {&model_->policy(), tunables_};
    const auto model = [&] {
      return replay::make_model(fs_.source(), *setup.policy, tunables_, nullptr);
    };
    SearchAndAfter out;
    out.search =
        std::make_unique<replay::OrderSearch>(fs_.source(), model(), setup, replay::TraceFacts{});
    if (repeats_commits) out.search->repeat_commits();
    EXPECT_TRUE(out.search->run(*trace.cursor()).ok());
    out.after = std::make_unique<replay::Follow>(fs_.source(), model(), setup, replay::TraceFacts{},
                                                 out.search->found());
    EXPECT_TRUE(out.after->run(*trace.cursor()).ok());
    return out;
  }
  // Replays under the same policy in the order that was found, and then in other orders. Returns a
  // hash of each run's decisions.
  [[nodiscard]] std::vector<std::uint64_t> in_other_orders(std::size_t orders) {
    replay::Session session(fs_.source(), packed_trace(trace_.events(), trace::Generation::v6_5),
                            {});
    replay::Setup setup = {&model_->policy(), tunables_};
    setup.check_every = replay::Setup::kOften;
    EXPECT_TRUE(session.follow(setup).ok());
    std::vector<std::uint64_t> hashes;
    const auto see = [&](std::size_t number, const replay::Run& run) {
      hashes.resize(std::max(hashes.size(), number + 1));
      hashes[number] = run.engine->hash().value();
      EXPECT_EQ(run.engine->tally().bad_frees, 0u);
      if (number == 0) {
        EXPECT_EQ(hashes[0], session.what_if(setup)->engine->hash().value());
      }
    };
    EXPECT_TRUE(session.in_other_orders(setup, orders, 1, see).ok());
    return hashes;
  }
  [[nodiscard]] std::uint64_t asked() const { return asked_; }

 private:
  struct Writer {
    Thread thread;
    std::optional<KernelTraceWriter::Open> open;
    std::optional<allocator::Decision> made;
    std::uint64_t goal_when_asked = 0;  // number of the request that had set the goal
    std::uint32_t logical = 1 << 16;
    std::vector<std::pair<std::uint64_t, Extent>> extents;  // inode, clusters
  };

  std::uint64_t& goal_of(std::uint64_t ino) { return goals_[ino % stream_goals_]; }

  void ask(Writer& writer) {
    allocator::Request request;
    request.number = ++asked_;
    request.ino = 100 + 10 * writer.thread.pid + rng_.below(4);
    request.flags = mb::hint_data | mb::hint_noprealloc;
    request.inputs.mode = allocator::Mode::stream;
    request.cpu = writer.thread.cpu;
    request.len = static_cast<std::uint32_t>(rng_.between(1, 40));
    request.logical = writer.logical;
    request.goal = rng_.below(fs_.geometry().blocks_count);
    request.size_hint = 1ull << 32;
    writer.logical += 64;
    writer.goal_when_asked = goal_of(request.ino);
    writer.open = trace_.open(writer.thread, request, request.len);
  }
  void decide(Writer& writer) {
    allocator::Request request = writer.open->request;
    if (rng_.below(2) == 0) request.inputs.continues_from = writer.goal_when_asked;
    if (locked_ && rng_.below(4) == 0)
      for (std::uint32_t i = 0; i < 3; ++i)
        request.inputs.passed_over.add(last_group_ + 2 * i, static_cast<unsigned>(rng_.below(3)));
    writer.made = model_->allocate(request, nullptr);
    last_group_ = writer.made->result.group;
    ASSERT_TRUE(writer.made->success);
    if (probed_) trace_.add_mark_used(writer.thread, writer.made->result);
    goal_of(request.ino) = request.number;
  }
  void answer(Writer& writer) {
    trace_.finish(*writer.open, *writer.made);
    writer.extents.emplace_back(writer.open->request.ino, writer.made->result);
    writer.open.reset();
    writer.made.reset();
  }
  void free(Writer& writer) {
    const Extent extent = write_free(writer);
    if (frees_late_)
      for (Writer& other : threads_)
        if (&other != &writer && !other.open && !other.extents.empty()) {
          take_effect(write_free(other));
          break;
        }
    take_effect(extent);
  }
  Extent write_free(Writer& writer) {
    const std::size_t which = rng_.below(writer.extents.size());
    const auto [ino, extent] = writer.extents[which];
    writer.extents.erase(writer.extents.begin() + static_cast<std::ptrdiff_t>(which));
    trace_.add_free(writer.thread, ino, extent.group, extent.start, extent.len);
    return extent;
  }
  void take_effect(const Extent& extent) {
    model_->note_event(trace_.events().size());
    EXPECT_TRUE(model_->free(extent.group, extent.start, extent.len, true));
  }

  void commit_until(std::uint64_t event) {
    for (const auto& entry : model_->state().freed().entries()) {
      if (!probed_ || entry.transaction != model_->committing() || entry.freed_at > event) break;
      trace_.add_mark_freed(entry.group, entry.start, entry.count);
    }
    model_->commit_until(event);
  }

  ModelFs fs_;
  allocator::Tunables tunables_;
  std::optional<allocator::Model> model_;
  Rng rng_;
  KernelTraceWriter trace_{false};
  std::vector<Writer> threads_;
  std::array<std::uint64_t, 2> goals_ = {};  // numbers of the requests that set the goals
  std::uint64_t stream_goals_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t transaction_ = 0;
  std::uint64_t began_ = 0;       // the event at which the last commit began
  std::uint32_t last_group_ = 0;  // of the last decision
  bool probed_ = false, frees_late_ = false, locked_ = false;
};

void expect_exact(Writers& writers, const std::string& what) {
  writers.finish();
  const auto [followed, alone] = writers.follow();
  EXPECT_EQ(followed.requests, writers.asked()) << what;
  EXPECT_EQ(followed.identical, writers.asked()) << what;
  EXPECT_EQ(alone.identical, writers.asked()) << what;
  for (const replay::Divergence& d : followed.divergences)
    ADD_FAILURE() << what << ", decision " << d.decision << " at event " << d.event << " of "
                  << d.pid << ": " << d.recorded << ", here " << d.modelled;
}

TEST(OrderSearch, FindsTheOrderOfWritersThatOverlap) {
  for (const auto& [policy, threads] : {std::pair{"linux-7.3", 1u},
                                        {"linux-7.3", 2u},
                                        {"linux-7.3", 4u},
                                        {"linux-6.12", 1u},
                                        {"linux-6.12", 2u},
                                        {"linux-6.1", 2u}})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Writers writers(policy, threads, seed);
      for (int i = 0; i < 3000; ++i) writers.step();
      expect_exact(writers, fmt::format("{}, {} threads, seed {}", policy, threads, seed));
    }
}

// Returns the share of decisions in ten traces on which model and recording agree.
template <class Write>
double followed_share(std::string_view policy, unsigned threads, const Write& write) {
  std::uint64_t asked = 0, identical = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Writers writers(policy, threads, seed);
    write(writers);
    writers.finish();
    identical += writers.follow().first.identical;
    asked += writers.asked();
  }
  return static_cast<double>(identical) / static_cast<double>(asked);
}

// If many requests overlap all the time, a wrong order may fit the trace for a while, so some
// decisions differ.
TEST(OrderSearch, FindsNearlyAllOfTheOrderOfManyWriters) {
  const auto write = [](Writers& writers) {
    for (int i = 0; i < 3000; ++i) writers.step();
  };
  EXPECT_GE(followed_share("linux-7.3", 8, write), 0.9995);
  EXPECT_GE(followed_share("linux-6.12", 4, write), 0.999);
  EXPECT_GE(followed_share("linux-6.1", 4, write), 0.999);
}

// Several allocations may take effect after the same event, also after their own request.
TEST(OrderSearch, FindsAnOrderThatLeadsToItsOwnDecisions) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Writers writers("linux-7.3", 8, seed);
    for (int i = 0; i < 3000; ++i) writers.step();
    writers.finish();
    const auto [search, after] = writers.search();
    EXPECT_LE(after->agreement().differing(), search->agreement().differing()) << "seed " << seed;
    EXPECT_FALSE(search->decides_in_found_order());
  }
}

TEST(OrderSearch, FindsTheOrderOfWritersThatSkipLockedGroups) {
  const auto write = [](Writers& writers) {
    writers.hold_locks();
    for (int i = 0; i < 3000; ++i) writers.step();
  };
  EXPECT_GE(followed_share("linux-7.3", 2, write), 0.9995);
  EXPECT_GE(followed_share("linux-7.3", 4, write), 0.9995);
}

// Writes a trace in which a writer continues while a commit returns its clusters part by part.
void commit_in_parts(Writers& writers) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) writers.step();
    writers.commit();
    for (int part = 0; part < 10; ++part) {
      writers.commit_partly();
      for (int i = 0; i < 20; ++i) writers.step();
    }
    writers.end_commit();
  }
}

TEST(OrderSearch, FindsNearlyAlwaysHowMuchACommitHasGivenBack) {
  EXPECT_GE(followed_share("linux-6.12", 1, commit_in_parts), 0.995);
}

// A search that moves no decision makes all decisions as a run in the found order does.
TEST(OrderSearch, NeedsNoRunAfterASearchThatDecidesInTheFoundOrder) {
  for (const auto& [policy, threads] : {std::pair{"linux-6.12", 1u}, {"linux-6.1", 2u}})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Writers writers(policy, threads, seed);
      commit_in_parts(writers);
      writers.finish();
      const auto [search, after] = writers.search();
      EXPECT_FALSE(search->found().empty());
      if (search->decides_in_found_order())
        EXPECT_EQ(after->hash().value(), search->hash().value()) << policy << ", seed " << seed;
      else
        EXPECT_GT(threads, 1u) << policy << ", seed " << seed;
    }
}

// An allocation may get clusters that a commit has just returned, and the commit may end before the
// closing event of the allocation.
TEST(OrderSearch, FindsAlmostAllThatACommitHasGivenBackToWritersThatOverlap) {
  EXPECT_GE(followed_share("linux-6.12", 2, commit_in_parts), 0.985);
  EXPECT_GE(followed_share("linux-6.12", 4, commit_in_parts), 0.985);
  EXPECT_GE(followed_share("linux-6.1", 2, commit_in_parts), 0.995);
}

// Since 6.18, the merging of freed extents depends on which entries a commit has already removed
// from the tree of their group (FreedMerging::parent). The trace does not show this. Only decisions
// that differ show which entries were removed.
TEST(OrderSearch, FindsNearlyAllOfACommitThatShapesTheNext) {
  EXPECT_GE(followed_share("linux-7.3", 1, commit_in_parts), 0.99);
}

// Writes a trace in which a writer continues while a commit returns its clusters one by one.
void commit_evenly(Writers& writers) {
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 2000; ++i) writers.step();
    writers.commit();
    for (int part = 0; part < 200; ++part) {
      writers.commit_share(part / 200.0);
      writers.step();
    }
    writers.end_commit();
  }
}

TEST(OrderSearch, FindsAllOfACommitThatGoesOnEvenly) {
  EXPECT_EQ(followed_share("linux-7.3", 1, commit_evenly), 1.0);
}

// Frees that take effect in another order than their events lead to trees of another shape, so
// other extents merge.
TEST(OrderSearch, FindsFreesThatTookEffectLate) {
  const auto write = [](Writers& writers) {
    writers.free_late();
    commit_evenly(writers);
  };
  EXPECT_GE(followed_share("linux-7.3", 2, write), 0.997);
}

// Decisions that differ show that a commit had returned less than the search assumed, or that it
// had removed other extents from their groups' trees. The search then repeats the commit.
TEST(OrderSearch, RepeatsACommitWhoseProgressWasWrong) {
  for (const unsigned threads : {1u, 2u}) {
    std::uint64_t once = 0, repeated = 0, after = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Writers writers("linux-7.3", threads, seed);
      if (threads > 1) writers.free_late();
      commit_evenly(writers);
      writers.finish();
      once += writers.search(false).search->agreement().differing();
      const auto both = writers.search();
      repeated += both.search->agreement().differing();
      after += both.after->agreement().differing();
    }
    EXPECT_LT(repeated, once) << threads << " threads";
    EXPECT_LT(after, once) << threads << " threads";
  }
}

// The recorder's probes show the moments that otherwise only the decisions suggest.
TEST(OrderSearch, NeedsNoSearchWhereProbesShowTheOrder) {
  const auto probed = [](const auto& write) {
    return [&write](Writers& writers) {
      writers.probe();
      write(writers);
    };
  };
  const auto write = [](Writers& writers) {
    for (int i = 0; i < 3000; ++i) writers.step();
  };
  EXPECT_EQ(followed_share("linux-7.3", 8, probed(write)), 1.0);
  EXPECT_EQ(followed_share("linux-6.12", 4, probed(write)), 1.0);
  EXPECT_EQ(followed_share("linux-6.1", 4, probed(write)), 1.0);
  EXPECT_EQ(followed_share("linux-6.12", 4, probed(commit_in_parts)), 1.0);
  EXPECT_EQ(followed_share("linux-6.1", 2, probed(commit_in_parts)), 1.0);
  EXPECT_EQ(followed_share("linux-7.3", 1, probed(commit_in_parts)), 1.0);
}

TEST(OrderSearch, OtherOrdersDecideOtherwise) {
  Writers many("linux-7.3", 4, 1);
  for (int i = 0; i < 3000; ++i) many.step();
  many.finish();
  const std::vector<std::uint64_t> hashes = many.in_other_orders(5);
  ASSERT_EQ(hashes.size(), 6u);
  EXPECT_EQ(std::set(hashes.begin(), hashes.end()).size(), 6u);
  Writers one("linux-7.3", 1, 1);
  for (int i = 0; i < 3000; ++i) one.step();
  one.finish();
  EXPECT_TRUE(one.in_other_orders(5).empty());
}

TEST(CommitProgress, LiesBetweenWhatWasGivenAndWhatWasMissing) {
  replay::CommitProgress progress;
  progress.add_given(5, 1);  // no commit has begun
  progress.add_missing(5, 2);
  EXPECT_TRUE(progress.last().empty());
  progress.begin(100);
  EXPECT_TRUE(progress.last().empty());
  progress.add_missing(110, 10);
  EXPECT_FALSE(progress.last().empty());
  EXPECT_EQ(progress.estimate(105), 0u);  // nothing shows that the commit returned anything
  progress.add_given(120, 40);
  progress.add_missing(130, 70);
  progress.add_missing(135, 60);  // so the entry was also missing at 130
  progress.add_given(140, 80);
  progress.end(200);
  EXPECT_EQ(progress.estimate(99), 0u);
  EXPECT_EQ(progress.estimate(110), 5u);
  EXPECT_EQ(progress.estimate(115), 30u);  // up to 60
  EXPECT_EQ(progress.estimate(120), 50u);
  EXPECT_EQ(progress.estimate(135), 50u);
  EXPECT_EQ(progress.estimate(136), 70u);  // nothing shows that some were not returned
  EXPECT_EQ(progress.estimate(140), 90u);
  EXPECT_EQ(progress.estimate(201), 0u);
  EXPECT_EQ(progress.first_missing(99), UINT64_MAX);
  EXPECT_EQ(progress.first_missing(110), 10u);
  EXPECT_EQ(progress.first_missing(111), 60u);
  EXPECT_EQ(progress.first_missing(136), UINT64_MAX);
  progress.begin(300);
  progress.add_given(310, 150);
  progress.add_missing(320, 140);           // contradicts the line above
  EXPECT_EQ(progress.estimate(305), 120u);  // freed after the beginning of the previous commit
  EXPECT_EQ(progress.estimate(315), 150u);
}

TEST(CommitProgress, TakesWhatWasMissingInAnyOrder) {
  replay::CommitProgress progress;
  progress.begin(100);
  progress.add_missing(130, 50);
  progress.add_missing(110, 20);
  progress.add_missing(120, 60);  // the first line says more
  progress.add_missing(150, 70);
  progress.add_missing(150, 65);  // says more than the line before
  EXPECT_EQ(progress.first_missing(105), 20u);
  EXPECT_EQ(progress.first_missing(111), 50u);
  EXPECT_EQ(progress.first_missing(131), 65u);
  EXPECT_EQ(progress.first_missing(151), UINT64_MAX);
}

}  // namespace
}  // namespace e4r::test
