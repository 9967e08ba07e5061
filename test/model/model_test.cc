// SPDX-License-Identifier: GPL-2.0-or-later
// Long random runs on tiny file systems. The state updates its indexes and counts incrementally.
// After every change, this test computes them again from the bitmaps, cluster by cluster.
//
// E4R_SEED=N repeats a run; E4R_LIVES=N makes it longer. Each run prints its seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "support/model.h"

namespace e4r::test {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

// The facts about a group that the allocator uses, computed from its bitmap alone.
struct PlainGroup {
  std::uint32_t free = 0;
  std::uint32_t fragments = 0;
  std::uint32_t first_free = 0;
  state::OrderCounters counters{};
  std::vector<std::uint32_t> order_of;  // order of the chunk that each free cluster belongs to
};

// Assigns to every free cluster the order of the largest aligned chunk around it that is completely
// free.
void raise_orders(const std::vector<bool>& used, std::uint32_t orders, PlainGroup& g) {
  std::vector<bool> whole(used.size());
  for (std::size_t at = 0; at < used.size(); ++at) whole[at] = !used[at];
  for (std::uint32_t order = 1; order < orders; ++order) {
    std::vector<bool> next(whole.size() / 2);
    for (std::size_t chunk = 0; chunk < next.size(); ++chunk) {
      next[chunk] = whole[2 * chunk] && whole[2 * chunk + 1];
      for (std::size_t at = chunk << order; next[chunk] && at < (chunk + 1) << order; ++at)
        g.order_of[at] = order;
    }
    whole = std::move(next);
  }
}

PlainGroup work_out(const std::vector<bool>& used, std::uint32_t orders) {
  PlainGroup g;
  const auto size = static_cast<std::uint32_t>(used.size());
  g.order_of.assign(size, 0);
  raise_orders(used, orders, g);
  g.first_free = size;
  for (std::uint32_t at = 0; at < size; ++at) {
    if (used[at]) continue;
    if (g.free++ == 0) g.first_free = at;
    if (at == 0 || used[at - 1]) ++g.fragments;
    const std::uint32_t order = g.order_of[at];
    if (at >> order << order == at) ++g.counters[order];
  }
  return g;
}

// Compares one group with the facts computed from its bitmap. Returns the first difference, or an
// empty string.
std::string compare(state::FsState& state, std::uint32_t number) {
  const state::Group& group = state.group(number);
  const state::MountedGeometry& geometry = state.geometry();
  std::vector<bool> used;
  for (std::uint32_t at = 0; at < geometry.clusters_per_group; ++at)
    used.push_back(state::bitmap::test(state.words(group), at));
  const PlainGroup plain = work_out(used, geometry.orders());
  if (group.free != plain.free) return fmt::format("{} free, not {}", plain.free, group.free);
  if (group.fragments != plain.fragments)
    return fmt::format("{} runs, not {}", plain.fragments, group.fragments);
  if (group.counters != plain.counters) return "chunk counters";
  if (group.first_free > plain.first_free) return "first free cluster";
  for (std::uint32_t at = 0; group.buddy && at < used.size(); ++at)
    if (!used[at] && group.buddy->order_at(at) != plain.order_of[at])
      return fmt::format("cluster {} in a chunk of order {}, not {}", at, plain.order_of[at],
                         group.buddy->order_at(at));
  int largest = static_cast<int>(geometry.orders()) - 1;
  while (largest >= 0 && plain.counters[static_cast<std::size_t>(largest)] == 0) --largest;
  if (group.largest_order != largest) return "largest order";
  if (state::has_tree(state.index())) {
    if (plain.fragments > 0 && !group.in_tree.is_linked()) return "place in the tree";
  } else if (state.order_lists()) {
    const int average = plain.fragments == 0
                            ? -1
                            : static_cast<int>(state::average_list(geometry.orders(),
                                                                   plain.free / plain.fragments));
    // A full group that stays on its list keeps the place that it had when it last had free
    // clusters. The bitmap does not show that place.
    const bool stays = state.index() == state::GroupIndex::lists_keep_full && plain.fragments == 0;
    if (!stays && group.average_order != average) return "list of the average run";
  }
  return {};
}

// Checks that every loaded group is on exactly the two lists, or in the two sets, to which it
// belongs.
std::string compare_lists(state::FsState& state) {
  std::vector<int> largest(state.group_count(), -1);
  std::vector<int> average(state.group_count(), -1);
  const auto orders = static_cast<int>(state.geometry().orders());
  const auto walk = [](const state::GroupSet& set, auto fn) {
    for (std::uint32_t g = set.next(0); g != state::GroupSet::kNone; g = set.next(g + 1)) fn(g);
  };
  bool twice = false;
  for (int order = 0; order < orders; ++order) {
    const auto put = [&](std::vector<int>& where) {
      return [&, order](std::uint32_t g) { twice |= std::exchange(where[g], order) != -1; };
    };
    const auto at = static_cast<std::uint32_t>(order);
    for (const state::Group& g : state.largest(at)) put(largest)(g.number);
    for (const state::Group& g : state.average(at)) put(average)(g.number);
    walk(state.largest_set(at), put(largest));
    walk(state.average_set(at), put(average));
  }
  if (twice) return "a group on two lists";
  for (std::uint32_t number = 0; number < state.group_count(); ++number) {
    const state::Group& group = state.group(number);
    const bool listed = state.order_lists() && !group.need_init;
    if (largest[number] != (listed ? group.largest_order : -1)) return "largest list";
    if (average[number] != (listed ? group.average_order : -1)) return "average list";
    for (const std::uint32_t least : {group.free, group.free + 1}) {
      std::uint32_t next = number;
      while (next < state.group_count() && state.group(next).free < least) ++next;
      if (state.free_index().next(number, least) != next) return "free index";
    }
  }
  return {};
}

// Draws a shape so small that the state can be computed again after every change.
ModelShape random_shape(Rng& rng) {
  ModelShape s;
  s.name = "random";
  s.groups = static_cast<std::uint32_t>(rng.between(1, 20));
  s.block_bits = static_cast<std::uint32_t>(rng.between(10, 13));
  s.clusters_per_group = 8 * static_cast<std::uint32_t>(rng.between(8, 40));
  s.cluster_bits = rng.chance(1, 4) ? static_cast<std::uint32_t>(rng.between(1, 4)) : 0;
  s.missing = static_cast<std::uint32_t>(rng.below(s.clusters_per_group / 2));
  s.log_flex = rng.chance(1, 2) ? static_cast<std::uint32_t>(rng.between(1, 4)) : 0;
  s.stripe = rng.chance(1, 4) ? static_cast<std::uint32_t>(rng.between(2, 24)) : 0;
  s.journal = rng.chance(3, 4);
  s.desc_csum = rng.chance(3, 4);
  return s;
}

allocator::Tunables random_tunables(Rng& rng, const state::MountedGeometry& geometry) {
  allocator::Tunables t = allocator::defaults_for(geometry);
  if (rng.chance(1, 2)) t.mb_optimize_scan = rng.below(2);
  if (rng.chance(1, 4)) t.mb_group_prealloc = rng.below(60);
  if (rng.chance(1, 4)) t.mb_max_linear_groups = rng.below(6);
  if (rng.chance(1, 4)) t.mb_max_to_scan = rng.below(30);
  if (rng.chance(1, 4)) t.mb_min_to_scan = rng.below(30);
  if (rng.chance(1, 4)) t.mb_order2_req = rng.below(6);
  if (rng.chance(1, 4)) t.mb_prefetch = rng.below(geometry.groups + 1);
  if (rng.chance(1, 4)) t.mb_max_inode_prealloc = rng.below(5);
  if (rng.chance(1, 4)) t.mb_cr1_5_max_trim_order = rng.below(8);
  return t;
}

// Runs one file system from its first file to its last. Returns the first fault, or an empty
// string.
std::string live(std::uint64_t seed, std::uint32_t steps) {
  Rng rng(seed);
  const ModelShape shape = random_shape(rng);
  ModelFs fs(shape);
  const auto all = shape.groups * shape.clusters_per_group;
  ModelFiles old = add_old_files(fs, rng, 4, static_cast<std::uint32_t>(rng.below(all / 8 + 1)),
                                 static_cast<std::uint32_t>(rng.between(1, 20)));
  fs.leave_uninit(rng, static_cast<std::uint32_t>(rng.below(101)));
  const auto& policies = allocator::policies();
  const allocator::Policy& policy = *policies[rng.below(policies.size())];
  Rig rig(policy, fs, random_tunables(rng, fs.geometry()));
  WorkloadOptions options;
  options.seed = rng.next();
  options.largest = static_cast<std::uint32_t>(rng.between(4, shape.clusters_per_group));
  options.most_files = static_cast<std::uint32_t>(rng.between(2, 30));
  Workload work(rig.allocator, fs, std::move(old), options);
  std::string wrong;
  work.watch = [&] {
    for (std::uint32_t number = 0; wrong.empty() && number < shape.groups; ++number)
      if (!rig.state.group(number).need_init)
        if (const std::string line = compare(rig.state, number); !line.empty())
          wrong = fmt::format("group {}: {}", number, line);
    if (wrong.empty()) wrong = compare_lists(rig.state);
  };
  for (std::uint32_t step = 0; step < steps && wrong.empty(); ++step) {
    work.step();
    if (wrong.empty() && !work.problems().empty()) wrong = work.problems().front();
    const std::vector<std::string> broken = rig.state.check(1);
    if (wrong.empty() && !broken.empty()) wrong = broken.front();
    if (!wrong.empty()) wrong += fmt::format(" (step {})", step);
  }
  if (wrong.empty()) work.delete_everything();
  if (wrong.empty() && work.count_strays(rig.state) != 0) wrong = "clusters lost at the end";
  return wrong.empty() ? wrong : fmt::format("policy {}: {}", policy.name, wrong);
}

TEST(Model, LongRandomLives) {
  const std::uint64_t seed = number_from("E4R_SEED", std::random_device{}());
  const std::uint64_t lives = number_from("E4R_LIVES", 50);
  fmt::print("E4R_SEED={}\n", seed);
  RecordProperty("seed", std::to_string(seed));
  Rng rng(seed);
  for (std::uint64_t i = 0; i < lives; ++i) {
    const std::uint64_t life = rng.next();
    const std::string wrong = live(life, 150);
    ASSERT_EQ(wrong, "") << "E4R_SEED=" << seed << ", life " << i << " with seed " << life;
  }
}

// Tests the same few file systems on every machine.
TEST(Model, FixedLives) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) EXPECT_EQ(live(seed, 100), "") << seed;
  // In these runs a group becomes full on a kernel that leaves full groups on their list.
  for (const std::uint64_t seed :
       {13089755491008591372ull, 6243467917291625918ull, 3423369826472209341ull})
    EXPECT_EQ(live(seed, 150), "") << seed;
  // This run's policy is linux-5.15.0, which has a tree and moves a group at each change.
  EXPECT_EQ(live(8892437299721466051ull, 150), "");
}

// Runs the life of a file system with this seed. If `copied` is true, it continues in the middle
// with a copy, into which another life has been put before. Returns its decisions and frees.
std::vector<trace::Event> live_on(std::uint64_t seed, bool copied) {
  constexpr std::uint32_t kSteps = 120;
  Rng rng(seed);
  const ModelShape shape = random_shape(rng);
  ModelFs fs(shape);
  ModelFiles old = add_old_files(fs, rng, 4, shape.clusters_per_group / 4, 10);
  const auto& policies = allocator::policies();
  const allocator::Policy& policy = *policies[rng.below(policies.size())];
  const allocator::Tunables tunables = random_tunables(rng, fs.geometry());
  Rig rig(policy, fs, tunables), other(policy, fs, tunables);
  WorkloadOptions options;
  options.seed = rng.next();
  options.largest = shape.clusters_per_group / 2;
  Workload work(rig.allocator, fs, old, options);
  work.run(kSteps);
  if (copied) {
    options.seed = rng.next();
    Workload(other.allocator, fs, std::move(old), options).run(kSteps / 2);
    other.state.copy_from(rig.state);
    other.allocator.copy_from(rig.allocator);
    EXPECT_EQ(other.state.groups_loaded(), rig.state.groups_loaded()) << seed;
    EXPECT_EQ(other.state.groups_unread(), rig.state.groups_unread()) << seed;
    work.move_to(other.allocator);
  }
  work.run(kSteps);
  EXPECT_EQ((copied ? other : rig).state.check(1), std::vector<std::string>()) << seed;
  return work.events();
}

TEST(Model, ACopyContinuesAsTheOriginalDoes) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    EXPECT_EQ(live_on(seed, true), live_on(seed, false)) << seed;
}

}  // namespace
}  // namespace e4r::test
