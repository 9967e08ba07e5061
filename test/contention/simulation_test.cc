// SPDX-License-Identifier: GPL-2.0-or-later
#include "contention/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "util/rng.h"

namespace e4r::contention {
namespace {

using allocator::LockStep;
using What = LockStep::What;

constexpr std::uint64_t kOther = 7;

constexpr std::uint64_t group(std::uint64_t number) {
  return LockStep::kOfGroup | number;
}

// Requests whose lock operations are fixed: they do not depend on when a request is served.
struct Work {
  std::vector<allocator::LockNotes> notes;  // for each request
  std::vector<std::uint64_t> think_ns;      // before each request
  std::vector<std::uint64_t> ino;           // the inode of each request
  std::vector<allocator::LockNotes>
      frees;  // before each request; may have fewer entries than notes
};

// Serves the requests and records their order.
class Server : public Requests {
 public:
  Server(const Work& work, unsigned writers) : work_(work), left_(writers) {
    for (std::size_t i = 0; i < work.ino.size(); ++i) left_[work.ino[i] % writers].push_back(i);
  }
  Result<std::optional<std::uint64_t>> think_ns(unsigned writer) override {
    if (left_[writer].empty()) return std::optional<std::uint64_t>();
    return std::optional(work_.think_ns[left_[writer].front()]);
  }
  Result<const allocator::LockNotes*> prepare(unsigned writer) override {
    const std::size_t next = left_[writer].front();
    if (order.size() + 1 == preparing_fails_at) return error("no such group");
    return next < work_.frees.size() ? &work_.frees[next] : nullptr;
  }
  Result<Served> serve(unsigned writer, unsigned, const allocator::HeldLocks& held) override {
    held_then.push_back(held);
    order.push_back(left_[writer].front());
    left_[writer].pop_front();
    if (order.size() == fails_at) return error("no such kernel");
    return Served{&work_.notes[order.back()], 0};
  }

  std::vector<std::size_t> order;
  std::vector<allocator::HeldLocks> held_then;
  std::size_t fails_at = 0;  // the number of the request that fails
  std::size_t preparing_fails_at = 0;

 private:
  const Work& work_;
  std::vector<std::deque<std::size_t>> left_;
};

SimulationOutcome simulate(const Work& work, unsigned writers, unsigned cpus) {
  Server served(work, writers);
  auto out = simulate(served, writers, Machine{cpus, {0, 0}});
  EXPECT_TRUE(out.ok());
  return *std::move(out);
}

// Builds work, request by request.
class WorkOf {
 public:
  // Adds a request for a file's blocks. It takes `ns` nanoseconds and holds one lock from `from` to
  // `to`.
  WorkOf& request(std::uint64_t ino, std::uint64_t think, std::uint64_t lock, std::uint32_t from,
                  std::uint32_t to, std::uint32_t ns, What what = What::take,
                  std::string_view name = "lock") {
    const std::uint16_t number = this->name(name);
    return add(ino, think, {{lock, from, number, what}, {lock, to, number, What::let_go}}, ns);
  }
  WorkOf& add(std::uint64_t ino, std::uint64_t think, std::vector<LockStep> steps,
              std::uint32_t ns) {
    work_.notes.push_back(names_);
    work_.notes.back().add(steps, ns);
    work_.think_ns.push_back(think);
    work_.ino.push_back(ino);
    return *this;
  }
  // Adds a free just before the last request.
  WorkOf& after_free(std::vector<LockStep> steps, std::uint32_t ns) {
    while (work_.frees.size() < work_.notes.size()) work_.frees.push_back(names_);
    work_.frees.back().add(steps, ns);
    return *this;
  }
  // Adds a name and returns its number. Call this before adding requests that use the name.
  std::uint16_t name(std::string_view text) { return names_.name(text); }
  // Adds a second part to the last request, just after its first part.
  WorkOf& part(std::vector<LockStep> steps, std::uint32_t ns) {
    work_.notes.back().add(steps, ns);
    return *this;
  }
  [[nodiscard]] const Work& work() const { return work_; }

 private:
  allocator::LockNotes names_;
  Work work_;
};

TEST(Contention, OneWriterTakesAsLongAsAllRequests) {
  WorkOf all;
  all.request(0, 100, group(1), 10, 20, 30).request(1, 200, group(1), 0, 40, 40);
  const SimulationOutcome out = simulate(all.work(), 1, 1);
  EXPECT_EQ(out.requests, 2u);
  EXPECT_EQ(out.ns, 100u + 30 + 200 + 40);
  EXPECT_EQ(out.busy_ns, out.ns);
  EXPECT_TRUE(out.waits.empty());
}

TEST(Contention, TheSecondWaitsUntilTheFirstLetsGo) {
  WorkOf all;
  all.request(0, 0, group(1), 10, 60, 70).request(1, 0, group(1), 20, 30, 40);
  const SimulationOutcome out = simulate(all.work(), 2, 2);
  // The first writer holds the lock from 10 to 60. The second writer requests the lock at 20, holds
  // it from 60 to 70, and ends at 80.
  EXPECT_EQ(out.ns, 80u);
  ASSERT_EQ(out.waits.size(), 1u);
  EXPECT_EQ(out.waits[0].name, "lock");
  EXPECT_EQ(out.waits[0].waits.count, 1u);
  EXPECT_EQ(out.waits[0].waits.ns, 40u);
  EXPECT_DOUBLE_EQ(out.share_waited(out.all_waits()), 40.0 / (70 + 40 + 40));
}

TEST(Contention, GroupsShareLocks) {
  for (const std::uint64_t other : {2ull, 1ull + allocator::kGroupLocks}) {
    WorkOf all;
    all.request(0, 0, group(1), 0, 50, 50).request(1, 0, group(other), 10, 20, 20);
    EXPECT_EQ(simulate(all.work(), 2, 2).all_waits().ns, other == 2 ? 0u : 40u);
  }
}

TEST(Contention, ReadersShareAndWaitBehindAWriterWhoCameFirst) {
  WorkOf all;
  all.request(0, 0, kOther, 0, 50, 50, What::share)
      .request(1, 0, kOther, 10, 30, 30, What::share)
      .request(2, 0, kOther, 20, 40, 40)
      .request(3, 0, kOther, 25, 35, 35, What::share);
  const SimulationOutcome out = simulate(all.work(), 4, 4);
  // The writer requests the lock at 20 and holds it from 50 to 70. The last reader waits for the
  // writer.
  EXPECT_EQ(out.all_waits().count, 2u);
  EXPECT_EQ(out.all_waits().ns, (50u - 20) + (70 - 25));
  EXPECT_EQ(out.ns, 80u);
}

TEST(Contention, WhoIsServedKnowsWhichGroupsLocksAreHeld) {
  WorkOf all;
  all.request(0, 0, group(1), 0, 50, 50)
      .request(1, 10, group(2 + allocator::kGroupLocks), 0, 20, 20)
      .request(2, 20, kOther, 0, 10, 10)
      .request(3, 40, group(3), 0, 10, 10);
  Server server(all.work(), 4);
  ASSERT_TRUE(simulate(server, 4, Machine{4, {0, 0}}).ok());
  ASSERT_EQ(server.held_then.size(), 4u);
  const auto held = [](std::initializer_list<std::size_t> locks) {
    allocator::HeldLocks out;
    for (const std::size_t lock : locks) out.set(lock);
    return out;
  };
  EXPECT_EQ(server.held_then[0], held({}));
  EXPECT_EQ(server.held_then[1], held({1}));
  EXPECT_EQ(server.held_then[2], held({1, 2}));
  EXPECT_EQ(server.held_then[3], held({1})) << "the second has let its lock go at 30";
}

TEST(Contention, WhoTriesATakenGroupIsServedInAnother) {
  WorkOf all;
  all.request(0, 0, group(1), 0, 50, 50, What::tries)
      .request(1, 0, group(1), 10, 20, 20, What::tries);
  const SimulationOutcome out = simulate(all.work(), 2, 2);
  EXPECT_EQ(out.evasions, 1u);
  EXPECT_EQ(out.all_waits().count, 0u);
  EXPECT_LT(out.ns, 200u);
}

TEST(Contention, AGroupThatWouldNotHaveDoneIsLeftOut) {
  WorkOf all;
  const std::uint16_t name = all.name("group");
  all.request(0, 0, group(1), 0, 1000, 1000);
  all.add(1, 0,
          {{group(1), 10, name, What::tries},
           {group(1), 30, name, What::let_go},
           {group(2), 40, name, What::tries},
           {group(2), 50, name, What::let_go}},
          60);
  const SimulationOutcome out = simulate(all.work(), 2, 2);
  EXPECT_EQ(out.evasions, 1u);
  EXPECT_EQ(out.all_waits().ns, 0u);
  EXPECT_EQ(out.busy_ns, 1000u + 60 - 20);
}

TEST(Contention, WritersShareCpus) {
  WorkOf all;
  all.request(0, 1000, group(1), 10, 20, 30).request(1, 1000, group(2), 10, 20, 30);
  const SimulationOutcome one = simulate(all.work(), 2, 1);
  EXPECT_EQ(one.ns, 2u * 1030);
  EXPECT_EQ(one.cpu_wait_ns, 1030u);
  EXPECT_EQ(simulate(all.work(), 2, 2).ns, 1030u);
}

TEST(Contention, AWriterGivesItsCpuUpAfterASlice) {
  WorkOf all;
  all.request(0, 10 * Machine::kSliceNs, group(1), 0, 1, 1).request(1, 5, group(2), 0, 1, 1);
  const SimulationOutcome out = simulate(all.work(), 2, 1);
  EXPECT_EQ(out.ns, 10 * Machine::kSliceNs + 1 + 6);
  EXPECT_EQ(out.cpu_wait_ns, Machine::kSliceNs + 6);
}

TEST(Contention, WhoWaitsForAMutexLeavesTheCpu) {
  WorkOf all;
  const std::uint64_t slice = Machine::kSliceNs;
  // The second writer waits for the first. Meanwhile the third computes on the second's CPU.
  all.request(0, 0, kOther, 0, static_cast<std::uint32_t>(2 * slice),
              static_cast<std::uint32_t>(2 * slice), What::sleep)
      .request(1, 0, kOther, 0, 10, 10, What::sleep)
      .request(2, 0, group(1), 0, 10, 10);
  const SimulationOutcome out = simulate(all.work(), 3, 2);
  EXPECT_EQ(out.requests, 3u);
  EXPECT_EQ(out.ns, 2 * slice + 10);
  EXPECT_EQ(out.all_waits().ns, 2 * slice);
  EXPECT_EQ(out.cpu_wait_ns, 0u);
}

// A time slice that runs out during a request is extended to the end of the request.
TEST(Contention, ARequestKeepsItsCpu) {
  WorkOf all;
  const auto longer = static_cast<std::uint32_t>(2 * Machine::kSliceNs);
  all.request(0, 0, kOther, 0, longer, longer, What::sleep)
      .request(1, 0, kOther, 0, 10, 10, What::sleep);
  const SimulationOutcome out = simulate(all.work(), 2, 1);
  EXPECT_EQ(out.ns, longer + 10u);
  EXPECT_EQ(out.all_waits().count, 0u);
  EXPECT_EQ(out.cpu_wait_ns, longer);
}

TEST(Contention, EachCpuHasItsLocalityGroup) {
  for (const unsigned cpus : {1u, 2u}) {
    WorkOf all;
    all.request(0, 0, kOther, 0, 50, 50, What::sleep, "lg_mutex")
        .request(1, 0, kOther, 0, 50, 50, What::sleep, "lg_mutex");
    const SimulationOutcome out = simulate(all.work(), 2, cpus);
    EXPECT_EQ(out.ns, cpus == 1 ? 100u : 50u);
    EXPECT_EQ(out.all_waits().count, 0u);
  }
}

TEST(Contention, ALoneFileIsNoFasterWithMoreWriters) {
  WorkOf all;
  for (int i = 0; i < 3000; ++i) all.request(5, 1000, group(1), 0, 1, 2);
  for (const unsigned writers : {1u, 2u, 64u})
    EXPECT_EQ(simulate(all.work(), writers, writers).ns, 3000u * 1002);
}

// Each request is served when its writer makes it, so a writer with shorter think times is served
// more often.
TEST(Contention, RequestsAreServedWhenTheyAreMade) {
  WorkOf all;
  for (int i = 0; i < 4; ++i)
    all.request(0, 100, group(1), 0, 1, 2).request(1, 310, group(2), 0, 1, 2);
  Server served(all.work(), 2);
  ASSERT_TRUE(simulate(served, 2, Machine{2, {0, 0}}).ok());
  EXPECT_EQ(served.order, (std::vector<std::size_t>{0, 2, 4, 1, 6, 3, 5, 7}));
}

// With one CPU, one writer is served until its time slice ends.
TEST(Contention, WhoHasTheCpuIsServed) {
  WorkOf all;
  for (int i = 0; i < 4; ++i)
    for (const std::uint64_t ino : {0, 1})
      all.request(ino, 2 * Machine::kSliceNs / 3, group(ino), 0, 1, 2);
  Server served(all.work(), 2);
  ASSERT_TRUE(simulate(served, 2, Machine{1, {0, 0}}).ok());
  EXPECT_EQ(served.order.front(), 0u);
  EXPECT_TRUE(
      std::ranges::is_permutation(served.order, std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(std::ranges::is_sorted(served.order));
}

TEST(Contention, ARequestOfSeveralPartsTakesAsLongAsAllOfThem) {
  WorkOf all;
  all.request(0, 100, group(1), 10, 20, 30);
  all.part({{group(2), 5, 0, What::take}, {group(2), 7, 0, What::let_go}}, 9).part({}, 11);
  const SimulationOutcome out = simulate(all.work(), 1, 1);
  EXPECT_EQ(out.requests, 1u);
  EXPECT_EQ(out.ns, 100u + 30 + 9 + 11);
}

TEST(Contention, AFreeHoldsItsGroupBeforeTheRequest) {
  WorkOf all;
  const std::uint16_t name = all.name("group");
  const auto free_of = [&](std::uint32_t from, std::uint32_t to) {
    return std::vector<LockStep>{{group(1), from, name, What::take},
                                 {group(1), to, name, What::let_go}};
  };
  all.request(0, 100, group(2), 10, 20, 30).after_free(free_of(5, 55), 60);
  EXPECT_EQ(simulate(all.work(), 1, 1).ns, 100u + 60 + 30);
  // The free of the second writer requests the lock of the same group at 120 and gets it at 155. So
  // this writer ends 35 ns later than it would alone.
  all.request(1, 115, group(3), 0, 10, 10).after_free(free_of(5, 15), 20);
  const SimulationOutcome out = simulate(all.work(), 2, 2);
  EXPECT_EQ(out.requests, 2u);
  EXPECT_EQ(out.all_waits().count, 1u);
  EXPECT_EQ(out.all_waits().ns, 35u);
  EXPECT_EQ(out.waits.at(0).name, "group");
  EXPECT_EQ(out.ns, 190u);
  EXPECT_EQ(out.busy_ns, 100u + 60 + 30 + 115 + 20 + 10);
}

// The other CPU was the last to mark clusters in the group, so it has the group's cache lines.
TEST(Contention, AFreeMovesTheLinesOfItsGroup) {
  WorkOf all;
  const std::uint16_t name = all.name("group");
  all.request(0, 0, group(1), 10, 20, 30);
  all.request(1, 1000, group(2), 0, 10, 10)
      .after_free({{group(1), 5, name, What::take}, {group(1), 15, name, What::let_go}}, 20);
  Server served(all.work(), 2);
  const auto out = simulate(served, 2, Machine{2, {100, 1000}});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->ns, 1000u + 20 + 100 + 1000 + 10);
}

TEST(Contention, WhatCannotBeFreedEndsIt) {
  WorkOf all;
  all.request(0, 0, group(1), 0, 1, 1).request(0, 0, group(1), 0, 1, 1);
  Server served(all.work(), 1);
  served.preparing_fails_at = 2;
  EXPECT_EQ(simulate(served, 1, Machine{1, {0, 0}}).error().message, "no such group");
}

TEST(Contention, WhatCannotBeServedEndsIt) {
  WorkOf all;
  all.request(0, 100, group(1), 10, 20, 30).request(1, 100, group(1), 10, 20, 30);
  Server served(all.work(), 2);
  served.fails_at = 2;
  const auto out = simulate(served, 2, Machine{2, {0, 0}});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().message, "no such kernel");
}

TEST(Contention, LocksThatDeadlockAreSeen) {
  WorkOf all;
  const std::uint16_t name = all.name("lock");
  const auto both = [&](std::uint64_t ino, std::uint64_t first, std::uint64_t second) {
    all.add(ino, 0,
            {{first, 10, name, What::take},
             {second, 20, name, What::take},
             {second, 30, name, What::let_go},
             {first, 40, name, What::let_go}},
            50);
  };
  both(0, group(1), group(2));
  both(1, group(2), group(1));
  EXPECT_TRUE(simulate(all.work(), 2, 2).deadlocked);
  EXPECT_EQ(simulate(all.work(), 2, 2).requests, 0u);
  EXPECT_FALSE(simulate(all.work(), 1, 1).deadlocked);
  EXPECT_EQ(simulate(all.work(), 1, 1).requests, 2u);
}

// Adds a request that takes 40 ns: it searches group 1 and marks clusters in it.
WorkOf& search_and_mark(WorkOf& all, std::uint64_t ino, std::uint64_t think,
                        What searches = What::tries) {
  const std::uint16_t name = all.name("group");
  return all.add(ino, think,
                 {{group(1), 0, name, searches},
                  {group(1), 10, name, What::let_go},
                  {group(1), 20, name, What::take},
                  {group(1), 30, name, What::let_go}},
                 40);
}

TEST(Contention, AGroupCostsMoreWhereAnotherCpuHasUsedItLast) {
  constexpr MovedLines kMoved = {.held_ns = 70, .unlocked_ns = 30};
  for (const What searches : {What::tries, What::take}) {
    WorkOf all;
    search_and_mark(all, 0, 0, searches);
    search_and_mark(all, 1, 1000, searches);  // buddy and bitmap have to move to this CPU
    search_and_mark(all, 1, 0, searches);     // buddy and bitmap are already on this CPU
    Server served(all.work(), 2);
    const SimulationOutcome out = *simulate(served, 2, Machine{2, kMoved});
    EXPECT_EQ(out.ns, 1000 + 40 + 2 * 100 + 40);
    EXPECT_EQ(out.busy_ns, 1000 + 3 * 40 + 2 * 100);
    Server again(all.work(), 2);
    EXPECT_EQ(simulate(again, 2, Machine{1, kMoved})->busy_ns, 1000u + 3 * 40);
  }
}

TEST(Contention, WhoSearchedElsewhereMovesOnlyWhatItUses) {
  WorkOf all;
  const std::uint16_t name = all.name("group");
  search_and_mark(all, 0, 0);
  // A preallocation serves this request, so the request only marks clusters.
  all.add(1, 1000, {{group(1), 0, name, What::take}, {group(1), 10, name, What::let_go}}, 10);
  search_and_mark(all, 0, 2000);  // the buddy is still on this CPU
  Server served(all.work(), 2);
  const SimulationOutcome out = *simulate(served, 2, Machine{2, {70, 30}});
  EXPECT_EQ(out.busy_ns, 3000u + 40 + (10 + 100) + (40 + 100));
}

// The second writer finds group 1 locked, so group 2 serves it. Only the first writer has used
// group 2 before.
TEST(Contention, WhoGoesToAnotherGroupHasThatOneMoved) {
  for (const bool used : {false, true}) {
    WorkOf all;
    const std::uint16_t name = all.name("group");
    const std::uint64_t first = used ? 2 : 3;
    all.add(0, 0, {{group(first), 0, name, What::tries}, {group(first), 10, name, What::let_go}},
            10);
    all.add(0, 0, {{group(1), 0, name, What::take}, {group(1), 500, name, What::let_go}}, 500);
    search_and_mark(all, 1, 100);
    Server served(all.work(), 2);
    const SimulationOutcome out = *simulate(served, 2, Machine{2, {70, 30}});
    EXPECT_EQ(out.evasions, 1u);
    constexpr std::uint64_t kToNextGroup = 100;
    EXPECT_EQ(out.busy_ns, 100 + 10 + 500 + 40 + kToNextGroup + (used ? 70 + 30 : 0));
  }
}

TEST(Contention, WhoWaitsForAGroupHasItMoved) {
  WorkOf all;
  search_and_mark(all, 0, 0, What::take);
  search_and_mark(all, 1, 5, What::take);
  Server served(all.work(), 2);
  const SimulationOutcome out = *simulate(served, 2, Machine{2, {70, 30}});
  // The second writer requests the group's lock at 5 and holds it from 10 to 90. The first writer
  // requests it at 20 to mark clusters.
  EXPECT_EQ(out.all_waits().ns, 5u + 70);
  EXPECT_EQ(out.busy_ns, 5u + 2 * 40 + 100 + 100);
}

// With any work, every request is served, and never before its writer can make it. Two runs serve
// the requests in the same way.
TEST(Contention, ServesWhateverWorkThereIs) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    WorkOf all;
    const std::uint16_t names[] = {all.name("group"), all.name("lg_mutex"), all.name("list")};
    std::uint64_t sum = 0;
    for (int i = 0; i < 60; ++i) {
      std::vector<LockStep> steps;
      std::uint32_t at = 0;
      const std::uint64_t first = rng.next() % 4;
      for (std::uint64_t lock = 0; lock < first; ++lock) {
        at += static_cast<std::uint32_t>(rng.next() % 100);
        steps.push_back(
            {group(lock), at, names[0], rng.next() % 2 != 0 ? What::take : What::share});
        if (rng.next() % 2 != 0) steps.push_back({lock + 1, at + 5, names[2], What::share});
        if (rng.next() % 2 != 0) steps.push_back({lock + 1, at + 7, names[2], What::let_go});
        at += static_cast<std::uint32_t>(rng.next() % 100);
        if (rng.next() % 3 != 0) steps.push_back({group(lock), at, names[0], What::let_go});
      }
      if (rng.next() % 3 == 0) steps.insert(steps.begin(), {99, 0, names[1], What::sleep});
      const std::uint64_t think = rng.next() % 1000;
      all.add(rng.next() % 16, think, steps, at + 10);
      sum += think + all.work().notes.back()[0].ns;
      if (rng.next() % 3 != 0) continue;
      const std::uint64_t freed = group(rng.next() % 4);
      all.after_free({{freed, 3, names[0], What::take}, {freed, 50, names[0], What::let_go}}, 60);
      sum += 60;
    }
    for (const unsigned writers : {1u, 3u, 16u}) {
      for (const unsigned cpus : {1u, 2u, writers}) {
        const SimulationOutcome out = simulate(all.work(), writers, cpus);
        const SimulationOutcome again = simulate(all.work(), writers, cpus);
        ASSERT_EQ(out.requests, 60u) << "seed " << seed << ", " << writers << " on " << cpus;
        EXPECT_EQ(out.busy_ns, sum);
        EXPECT_GE(out.ns * cpus, out.busy_ns);
        EXPECT_LE(out.ns, out.busy_ns + out.all_waits().ns);
        EXPECT_EQ(again.ns, out.ns);
        EXPECT_EQ(again.all_waits().ns, out.all_waits().ns);
      }
    }
  }
}

}  // namespace
}  // namespace e4r::contention
