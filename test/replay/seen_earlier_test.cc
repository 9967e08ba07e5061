// SPDX-License-Identifier: GPL-2.0-or-later
// Tests searches that see one group before and another group after a change by another thread.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <utility>

#include "allocator/model.h"
#include "replay/engine.h"
#include "replay/session.h"
#include "support/busy_fs.h"
#include "support/model.h"
#include "trace/packed.h"

namespace e4r::test {
namespace {

using trace::EventKind;

constexpr std::uint32_t kLen = 20;
constexpr Extent kFirst = {1, 100, kLen, 0};
constexpr Extent kSecond = {2, 200, kLen, 0};
// Each of the two groups has further free extents. They are too short, but a search examines them.
// So the count of extents shows that the search did not skip the group.
constexpr std::uint32_t kShortOnes = 4, kShort = 7;
constexpr Thread kOther = {1, 0}, kSearching = {2, 1};

// Two threads on a file system that has free clusters in two groups only.
class TwoThreads {
 public:
  // The short extents are before the long one of their group, or after it.
  explicit TwoThreads(const char* policy, bool short_first = true)
      : fs_(model_shape("blocks_4k_forty_groups")) {
    fs_.fill();
    for (const Extent& e : {kFirst, kSecond}) {
      fs_.free(e.group, e.start, e.len);
      for (std::uint32_t i = 1; i <= kShortOnes; ++i)
        fs_.free(e.group, short_first ? e.start - 10 * i : e.start + kLen + 10 * i, kShort);
    }
    tunables_ = allocator::defaults_for(fs_.geometry());
    tunables_.possible_cpus = 2;
    model_.emplace(fs_.source(), *allocator::find_policy(policy), tunables_);
    for (std::uint32_t group = 0; group < fs_.geometry().groups; ++group) {
      model_->load_by_others(group);
      trace_.add_load({}, group);
    }
  }

  [[nodiscard]] std::uint64_t block_in(std::uint32_t group) const {
    return fs_.geometry().first_block(group);
  }
  void begin_commit() {
    trace_.add_commit(EventKind::commit_flushing, 1);
    model_->begin_commit();
  }
  void end_commit() {
    trace_.add_commit(EventKind::end_commit, 1);
    model_->end_commit();
  }
  void ask(const Thread& thread, std::uint64_t goal, std::uint32_t flags = 0,
           std::uint32_t len = kLen) {
    allocator::Request request = request_of(thread, goal, len);
    request.flags = mb::hint_data | mb::hint_noprealloc | flags;
    request.inputs.mode = allocator::Mode::noprealloc;
    request.logical = static_cast<std::uint32_t>(asked_) << 16;
    request.size_hint = 1ull << 32;
    open_ = trace_.open(thread, request, len);
  }
  // Asks for the last `len` of the first 16 file blocks. The kernel preallocates all 16.
  void ask_ahead(const Thread& thread, std::uint64_t goal, std::uint32_t len) {
    allocator::Request request = request_of(thread, goal, len);
    request.flags = mb::hint_data;
    request.inputs.mode = allocator::Mode::stream;
    request.logical = 16 - len;
    request.size_hint = std::uint64_t{16} << 12;
    open_ = trace_.open(thread, request, len);
  }
  // Lets decide() decide `other` next. Returns the request that it would have decided.
  [[nodiscard]] KernelTraceWriter::Open go_on_with(const KernelTraceWriter::Open& other) {
    return *std::exchange(open_, other);
  }
  [[nodiscard]] const KernelTraceWriter::Open& asked() const { return *open_; }
  // The next search sees the clusters as free if `shown` is true, or else as in use.
  void pretend(const Extent& extent, bool shown) {
    model_->pretend(extent.group, extent.start, extent.len, shown);
  }
  // Decides the request. Its search sees `hidden` as in use, or if `shown` is true, as free.
  allocator::Decision decide(const std::optional<Extent>& hidden = {}, bool shown = false) {
    if (hidden) pretend(*hidden, shown);
    const allocator::Decision decision = model_->allocate(open_->request, nullptr);
    if (decision.result.len > decision.orig.len) trace_.mark_decision(*open_, decision);
    trace_.finish(*open_, decision);
    return decision;
  }
  void take(const Extent& extent) {
    ask(kOther, fs_.geometry().block_of(extent.group, extent.start), mb::hint_try_goal);
    const allocator::Decision decision = decide();
    ASSERT_TRUE(same_clusters(decision.result, extent));
  }
  void discard(const Thread& thread) {
    trace_.add_discard(thread, 100 + thread.pid);
    model_->discard_inode(100 + thread.pid, 0);
  }
  void free(const Extent& extent) {
    trace_.add_free(kOther, 100 + kOther.pid, extent.group, extent.start, extent.len);
    model_->note_event(trace_.events().size());
    ASSERT_TRUE(model_->free(extent.group, extent.start, extent.len, true));
  }

  void expect_exact(std::uint64_t earlier) {
    replay::Session session(fs_.source(), packed_trace(trace_.events(), trace::Generation::v6_5),
                            {});
    replay::Setup setup = {&model_->policy(), tunables_};
    setup.check_every = replay::Setup::kOften;
    const auto followed = session.follow(setup);
    ASSERT_TRUE(followed.ok());
    EXPECT_EQ(followed->engine->agreement().identical, asked_);
    EXPECT_EQ(followed->engine->agreement().earlier, earlier);
    const auto alone = session.free_run(setup);
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(alone->engine->agreement().identical, asked_);
  }

 private:
  allocator::Request request_of(const Thread& thread, std::uint64_t goal, std::uint32_t len) {
    allocator::Request request;
    request.number = ++asked_;
    request.ino = 100 + thread.pid;
    request.cpu = thread.cpu;
    request.len = len;
    request.goal = goal;
    return request;
  }

  ModelFs fs_;
  allocator::Tunables tunables_;
  std::optional<allocator::Model> model_;
  KernelTraceWriter trace_{false};
  std::optional<KernelTraceWriter::Open> open_;
  std::uint64_t asked_ = 0;
};

// A commit returns the extent in group 1 after a search has passed that group, and the extent in
// group 2 before the search comes there.
TEST(SeenEarlier, ACommitReturnsExtentsBetweenTwoVisits) {
  for (const char* policy : {"linux-7.3", "linux-6.17"}) {
    TwoThreads threads(policy);
    threads.take(kFirst);
    threads.take(kSecond);
    threads.free(kFirst);
    threads.free(kSecond);
    threads.begin_commit();
    threads.ask(kSearching, threads.block_in(kFirst.group));
    threads.end_commit();
    EXPECT_TRUE(same_clusters(threads.decide(kFirst).result, kSecond));
    threads.ask(kSearching, threads.block_in(kFirst.group));
    EXPECT_TRUE(same_clusters(threads.decide().result, kFirst));
    threads.expect_exact(1);
  }
}

// A search chooses the extent in group 1. Another thread takes that extent before the search comes
// back for it, so the search begins again and takes any extent. The other thread had asked earlier.
TEST(SeenEarlier, TheBestExtentIsGoneWhenASearchComesBackForIt) {
  for (const char* policy : {"linux-7.3", "linux-6.17"}) {
    TwoThreads threads(policy, false);
    threads.ask(kOther, threads.block_in(kFirst.group) + kFirst.start, mb::hint_try_goal);
    const KernelTraceWriter::Open other = threads.asked();
    threads.ask(kSearching, threads.block_in(kFirst.group), 0, kLen + 10);
    const KernelTraceWriter::Open searching = threads.go_on_with(other);
    ASSERT_TRUE(same_clusters(threads.decide().result, kFirst));
    (void)threads.go_on_with(searching);
    const allocator::Decision lost = threads.decide(kFirst, true);
    EXPECT_NE(lost.flags & mb::hint_first, 0u);
    EXPECT_EQ(lost.result.len, kShort);
    threads.expect_exact(1);
  }
}

// A search chooses the extent in group 1. Another thread preallocates most of it, and gives back
// the beginning before the search comes back. So the search takes the beginning.
TEST(SeenEarlier, TheBestExtentIsShorterWhenASearchComesBackForIt) {
  for (const char* policy : {"linux-7.3", "linux-6.17"}) {
    TwoThreads threads(policy, false);
    threads.ask(kSearching, threads.block_in(kFirst.group), 0, kLen + 10);
    const KernelTraceWriter::Open searching = threads.asked();
    threads.ask_ahead(kOther, threads.block_in(kFirst.group), 10);
    ASSERT_TRUE(same_clusters(threads.decide().result, {kFirst.group, kFirst.start, 16, 0}));
    threads.discard(kOther);
    (void)threads.go_on_with(searching);
    // Before the discard and the preallocation, all 20 clusters were free.
    threads.pretend({kFirst.group, kFirst.start, 6, 0}, false);
    const allocator::Decision shorter =
        threads.decide(Extent{kFirst.group, kFirst.start, 16, 0}, true);
    EXPECT_TRUE(same_clusters(shorter.result, {kFirst.group, kFirst.start, 6, 0}));
    EXPECT_EQ(shorter.flags & mb::hint_first, 0u);
    threads.expect_exact(1);
  }
}

// The true state returns after the decision, even if nothing was found.
TEST(SeenEarlier, PretencesEndWithTheDecision) {
  TwoThreads threads("linux-7.3");
  threads.ask(kSearching, threads.block_in(kFirst.group));
  EXPECT_TRUE(same_clusters(threads.decide(kFirst).result, kSecond));
  threads.ask(kSearching, threads.block_in(kFirst.group));
  EXPECT_TRUE(same_clusters(threads.decide().result, kFirst));
}

}  // namespace
}  // namespace e4r::test
