// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/warm_start.h"

#include <algorithm>
#include <numeric>

#include "allocator/model.h"
#include "replay/checkpoint.h"

namespace e4r::replay {
namespace {

using allocator::PlantedPrealloc;
using state::Prealloc;

// Moves a group to just before another group, if it comes after it.
void put_before(std::vector<std::uint32_t>& order, std::uint32_t group, std::uint32_t other) {
  const auto from = std::ranges::find(order, group);
  const auto to = std::ranges::find(order, other);
  if (to < from && from != order.end()) std::rotate(to, from, from + 1);
}

// An order of groups, stored as ranks. A group can be moved to just before another group.
class Ranking {
 public:
  Ranking(std::vector<std::uint32_t>& rank, std::uint32_t group_count) : rank_(rank) {
    order_.resize(group_count);
    std::iota(order_.begin(), order_.end(), 0u);
    if (!rank.empty())
      std::sort(order_.begin(), order_.end(),
                [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
  }
  void put_before(std::uint32_t group, std::uint32_t other) {
    replay::put_before(order_, group, other);
  }
  void store() {
    rank_.resize(order_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) rank_[order_[i]] = i;
  }

 private:
  std::vector<std::uint32_t>& rank_;
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::size_t WarmStart::prealloc_count() const {
  if (checkpoint != nullptr) return checkpoint->preallocs.size();
  std::size_t out = preallocs.size();
  for (const Hidden& group : hidden) out += group.runs().size();
  return out;
}

namespace {

// The groups in the order of their ranks.
std::vector<std::uint32_t> in_order(const std::vector<std::uint32_t>& rank) {
  std::vector<std::uint32_t> out(rank.size());
  std::iota(out.begin(), out.end(), 0u);
  std::ranges::sort(out, {}, [&](std::uint32_t group) { return rank[group]; });
  return out;
}

}  // namespace

allocator::Planted WarmStart::planted() const {
  if (checkpoint != nullptr) {
    allocator::Planted out = checkpoint->planted();
    for (const Precedence& p : behind_checkpoint) {
      auto& order = p.lists == state::OrderLists::largest ? out.by_largest : out.by_average;
      put_before(order, p.group, p.other);
    }
    return out;
  }
  allocator::Planted out;
  out.preallocs = preallocs;
  for (const Hidden& group : hidden)
    for (const ClusterRange& run : group.runs())
      out.preallocs.push_back({.kind = Prealloc::Kind::group,
                               .owner = PlantedPrealloc::kNobody,
                               .group = group.group,
                               .start = run.first,
                               .len = run.count});
  out.streams = streams;
  for (const state::MbGroup& shown : groups)
    out.first_free.push_back({shown.number, shown.first_free});
  out.by_largest = in_order(rank_by_largest);
  out.by_average = in_order(rank_by_average);
  return out;
}

void WarmStart::put_into(allocator::Model& model) const {
  state::FsState& state = model.own_state();
  for (std::uint32_t group = 0; group < state.group_count(); ++group) {
    state.load(group);
    state.mark_read(state.group(group));
  }
  if (checkpoint != nullptr) {
    checkpoint->put_into(model);
    for (const Precedence& p : behind_checkpoint) state.put_before(p.lists, p.group, p.other);
    return;
  }
  const allocator::Planted start = planted();
  for (const PlantedPrealloc& pa : start.preallocs) model.allocator().plant(pa);
  model.allocator().plant(start.streams);
  // The kernel lowers bb_first_free at once, but does not always raise it. So the recorded value
  // may be below the first free cluster.
  for (const auto& [number, cluster] : start.first_free) {
    if (number >= state.group_count()) continue;
    state::Group& group = state.group(number);
    group.first_free = std::min(group.first_free, cluster);
  }
  std::vector<std::uint32_t> ascending(state.group_count());
  std::iota(ascending.begin(), ascending.end(), 0u);
  const auto arrange = [&](state::OrderLists lists, const std::vector<std::uint32_t>& rank) {
    state.arrange(lists, rank.size() == ascending.size() ? rank : ascending);
  };
  arrange(state::OrderLists::largest, rank_by_largest);
  arrange(state::OrderLists::average, rank_by_average);
}

std::unique_ptr<allocator::Model> make_model(const state::Source& source,
                                             const allocator::Policy& policy,
                                             const allocator::Tunables& tunables,
                                             const WarmStart* warm) {
  auto model = std::make_unique<allocator::Model>(source, policy, tunables);
  if (warm != nullptr) warm->put_into(*model);
  return model;
}

void WarmStart::learn(const std::vector<Precedence>& learnt, std::uint32_t group_count) {
  precedences += learnt.size();
  if (checkpoint != nullptr) {
    behind_checkpoint.insert(behind_checkpoint.end(), learnt.begin(), learnt.end());
    return;
  }
  Ranking largest(rank_by_largest, group_count);
  Ranking average(rank_by_average, group_count);
  for (const Precedence& p : learnt)
    (p.lists == state::OrderLists::largest ? largest : average).put_before(p.group, p.other);
  largest.store();
  average.store();
}

}  // namespace e4r::replay
