// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/checks.h"

#include <algorithm>
#include <array>
#include <thread>

#include "conformance/workload.h"

namespace e4r::conformance {
namespace {

using allocator::Decision;
using allocator::Policy;

void add(Complaints& out, std::vector<std::string> lines) {
  out.insert(out.end(), std::make_move_iterator(lines.begin()),
             std::make_move_iterator(lines.end()));
}

// Returns the broken invariants of the state, or the fault of a plugin policy.
Complaints faults(const Rig& rig, std::uint64_t limit) {
  Complaints out = rig.state.check(limit);
  if (const Status status = rig.allocator.status(); !status.ok())
    out.push_back(status.error().message);
  return out;
}

// Calls `each` with requests of each kind: metadata, small files, large files.
template <class Each>
void for_each_kind(Each each) {
  for (const std::uint32_t flags : {0u, mb::hint_data})
    for (const std::uint64_t size : {std::uint64_t{4096}, std::uint64_t{64} << 20})
      each(flags, size, fmt::format("flags {:#x}, size {}", flags, size));
}

Complaints finds_the_only_free_cluster(const Policy& policy, const ModelShape& shape) {
  Complaints out;
  for (const bool loaded : {true, false}) {
    for_each_kind([&](std::uint32_t flags, std::uint64_t size, const std::string& what) {
      ModelFs fs(shape);
      fs.fill();
      const std::uint32_t group = shape.groups - 1;
      const std::uint32_t cluster = fs.geometry().clusters_in(group) - 1;
      fs.free(group, cluster, 1);
      Rig rig(policy, fs);
      if (loaded) load_all(rig.state);
      allocator::Request request = data_request(20, 1, size);
      request.flags = flags;
      const Decision d = rig.allocator.allocate(request);
      const bool may_refuse = policy.may_refuse && flags == mb::hint_data;
      const std::uint64_t wanted = fs.geometry().block_of(group, cluster);
      if ((d.success || !may_refuse) && (!d.success || d.block != wanted || d.len != 1))
        out.push_back(fmt::format("{}, groups {}: one cluster is free, at block {}: {}", what,
                                  loaded ? "loaded" : "not loaded", wanted,
                                  d.success ? fmt::format("{} at block {}", d.len, d.block)
                                            : std::string("it was not found")));
      add(out, faults(rig, 3));
    });
  }
  return out;
}

Complaints fails_cleanly_without_space(const Policy& policy, const ModelShape& shape) {
  Complaints out;
  ModelFs fs(shape);
  fs.fill();
  Rig rig(policy, fs);
  for_each_kind([&](std::uint32_t flags, std::uint64_t size, const std::string& what) {
    allocator::Request request = data_request(20, 8, size);
    request.flags = flags;
    const Decision d = rig.allocator.allocate(request);
    if (d.success || d.len != 0 || d.result.len != 0 || d.prealloc)
      out.push_back(fmt::format("{}: no cluster is free, and {} were handed out", what, d.len));
  });
  add(out, faults(rig, 3));
  return out;
}

// Writes random files on a partly used image. Checks every decision against a simple record of the
// clusters in use, and the state against its own invariants.
Complaints keeps_every_invariant(const Policy& policy, const ModelShape& shape) {
  ModelFs fs(shape);
  Rng rng(7);
  ModelFiles old = add_old_files(fs, rng, 6, shape.groups * shape.clusters_per_group / 20, 40);
  fs.leave_uninit(rng, 50);
  Rig rig(policy, fs);
  WorkloadOptions options;
  options.largest = std::min(shape.clusters_per_group, 2000u);
  Workload work(rig.allocator, fs, std::move(old), options);
  Complaints out;
  const auto strays = [&](std::string_view when) {
    if (const std::uint64_t count = work.count_strays(rig.state); count > 0)
      out.push_back(fmt::format("{}: {} clusters differ from what was handed out", when, count));
  };
  for (int round = 0; round < 12 && out.empty(); ++round) {
    work.run(100);
    add(out, faults(rig, 1));
    add(out, work.problems());
    strays(fmt::format("round {}", round));
  }
  if (!out.empty()) return out;
  if (work.decisions() <= 300) out.push_back(fmt::format("only {} decisions", work.decisions()));
  work.delete_everything();
  strays("all files deleted");
  add(out, faults(rig, 3));
  return out;
}

std::vector<trace::Event> run_of(const Policy& policy, const ModelShape& shape) {
  ModelFs fs(shape);
  Rng rng(11);
  ModelFiles old = add_old_files(fs, rng, 3, 500, 20);
  Rig rig(policy, fs);
  Workload work(rig.allocator, fs, std::move(old), {.seed = 3});
  work.run(300);
  return work.events();
}

Complaints repeats_itself(const Policy& policy, const ModelShape& shape) {
  const std::vector<trace::Event> first = run_of(policy, shape);
  std::array<std::vector<trace::Event>, 2> at_once;
  std::thread other([&] { at_once[1] = run_of(policy, shape); });
  at_once[0] = run_of(policy, shape);
  other.join();
  Complaints out;
  if (at_once[0] != first) out.emplace_back("the same operations gave other decisions");
  if (at_once[1] != at_once[0]) out.emplace_back("two threads at once got different decisions");
  return out;
}

constexpr std::array kChecks = {
    Check{"finds-the-only-free-cluster",
          "a request finds the only free cluster, for metadata, small files and large files",
          finds_the_only_free_cluster},
    Check{"fails-cleanly", "a full file system is refused cleanly", fails_cleanly_without_space},
    Check{"keeps-invariants", "random operations lose, share and invent no cluster",
          keeps_every_invariant},
    Check{"repeats-itself", "the same operations give the same decisions, in two threads at once",
          repeats_itself},
};

Complaints last_rung_takes_any_cluster(const Policy& policy) {
  const allocator::Rung& last = policy.ladder.back();
  ModelFs fs(model_shape("two_groups"));
  fs.fill();
  fs.free(1, 100, 1);
  Rig rig(policy, fs);
  load_all(rig.state);
  allocator::Counters counters;
  allocator::Search search(rig.state, rig.tunables, counters);
  search.goal.len = search.goal_len = 500;
  Complaints out;
  const auto expect = [&](bool holds, const char* complaint) {
    if (!holds) out.emplace_back(complaint);
  };
  expect(last.choose == nullptr && last.classes == nullptr, "the last rung does not walk");
  expect(!last.fast && last.lengths == allocator::Lengths::all,
         "the last rung skips groups or extents");
  expect(last.applies(search), "the last rung does not always apply");
  expect(last.least_free(search) <= 1, "the last rung wants more than one free cluster");
  expect(last.good(search, rig.state.group(1)), "the last rung refuses one free cluster");
  expect(!last.good(search, rig.state.group(0)), "the last rung takes a full group");
  return out;
}

// Returns the events of a workload that runs with this value of the tunable.
std::vector<trace::Event> with(const Policy& policy, const allocator::TunableInfo& info,
                               std::uint64_t value) {
  ModelFs fs(model_shapes().front());
  Rng rng(5);
  ModelFiles old = add_old_files(fs, rng, 6, 2000, 20);
  allocator::Tunables tunables = allocator::defaults_for(fs.geometry());
  tunables.*(info.member) = value;
  Rig rig(policy, fs, tunables);
  Workload work(rig.allocator, fs, std::move(old), {.seed = 9});
  work.run(400);
  return work.events();
}

Complaints ignores_tunables_of_others(const Policy& policy) {
  Complaints out;
  for (const allocator::TunableInfo& info : allocator::tunable_table()) {
    if (allocator::has_tunable(policy, info)) continue;
    const std::vector<trace::Event> least = with(policy, info, 0);
    for (const std::uint64_t value : {std::uint64_t{1}, std::uint64_t{2}, info.max})
      if (with(policy, info, std::min(value, info.max)) != least)
        out.push_back(fmt::format("{}={} changes decisions, and is not a tunable of the policy",
                                  info.name, std::min(value, info.max)));
  }
  return out;
}

constexpr std::array kPolicyChecks = {
    PolicyCheck{"last-rung", "the last rung takes any free cluster", last_rung_takes_any_cluster},
    PolicyCheck{"tunables", "a tunable that the policy does not have makes no difference",
                ignores_tunables_of_others},
};

}  // namespace

std::span<const Check> checks() {
  return kChecks;
}

std::span<const PolicyCheck> policy_checks() {
  return kPolicyChecks;
}

}  // namespace e4r::conformance
