// SPDX-License-Identifier: GPL-2.0-or-later
#include "shrinker/reclaim.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace e4r::shrinker {
namespace {

// Reclaims an entry, unless it must be kept or was referenced since the last visit. Returns its
// successor.
StatusTree::Position visit(StatusCache& cache, StatusCache::Inode& inode, StatusTree::Position at,
                           ShrinkCall& scan) {
  ++scan.visited;
  Entry& entry = at->second;
  if (entry.must_keep()) return std::next(at);
  if ((entry.flags & trace::es::referenced) != 0) {
    entry.flags &= ~trace::es::referenced;
    return std::next(at);
  }
  ++scan.reclaimed;
  return cache.reclaim(inode, at);
}

// Walks once from the cursor up to and including the block `last`. Returns false if the budget was
// used up; the cursor is then at the next entry.
bool walk(StatusCache& cache, StatusCache::Inode& inode, std::uint64_t last, std::uint64_t& budget,
          ShrinkCall& scan) {
  for (auto at = inode.tree.search(inode.cursor); at != inode.tree.end();) {
    if (budget == 0) {
      inode.cursor = at->first;
      return false;
    }
    if (at->first > last) {
      inode.cursor = last + 1;
      return true;
    }
    --budget;
    at = visit(cache, inode, at, scan);
  }
  inode.cursor = 0;
  return true;
}

// Walks from the cursor to the end, and then from the start to the initial position.
void walk_all(StatusCache& cache, StatusCache::Inode& inode, std::uint64_t& budget,
              ShrinkCall& scan) {
  const std::uint64_t start = inode.cursor;
  if (walk(cache, inode, kLastBlock, budget, scan) && start != 0)
    walk(cache, inode, start - 1, budget, scan);
}

// Returns the first reclaimable entry at or after `at`.
StatusTree::Position evictable(StatusCache::Inode& inode, StatusTree::Position at) {
  while (at != inode.tree.end() && at->second.must_keep()) ++at;
  return at;
}

// Visits each reclaimable entry once, from the cursor to the end and then from the start.
void walk_evictable(StatusCache& cache, StatusCache::Inode& inode, std::uint64_t& budget,
                    ShrinkCall& scan) {
  const std::uint64_t visits = std::min(budget, inode.reclaimable);
  budget -= visits;
  auto at = evictable(inode, inode.tree.search(inode.cursor));
  for (std::uint64_t i = 0; i < visits; ++i) {
    if (at == inode.tree.end()) at = evictable(inode, inode.tree.begin());
    at = evictable(inode, visit(cache, inode, at, scan));
  }
  inode.cursor = at == inode.tree.end() ? 0 : at->first;
}

// Walks from the first entry. Entries that must be kept are visited, but only reclaimed entries use
// up the budget.
void walk_from_start(StatusCache& cache, StatusCache::Inode& inode, std::uint64_t& budget,
                     ShrinkCall& scan) {
  for (auto at = inode.tree.begin(); at != inode.tree.end() && budget > 0;) {
    ++scan.visited;
    if (at->second.must_keep()) {
      ++at;
      continue;
    }
    at = cache.reclaim(inode, at);
    ++scan.reclaimed;
    --budget;
  }
}

// Walks every inode of the list once, until the budget is used up.
using Walk = void(StatusCache&, StatusCache::Inode&, std::uint64_t& budget, ShrinkCall&);
template <Walk* kWalk>
ShrinkCall in_turn(StatusCache& cache, std::uint64_t budget) {
  ShrinkCall scan;
  StatusCache::List& list = cache.list();
  for (std::size_t left = list.size(); left > 0 && !list.empty(); --left) {
    StatusCache::Inode& inode = *list.front();
    list.splice(list.end(), list, list.begin());
    ++scan.inodes;
    kWalk(cache, inode, budget, scan);
    if (budget == 0) break;
  }
  return scan;
}

// The list is in the order in which inodes were used. Unlike in Linux 6.1, a call with a budget of
// 0 moves no inode on the list.
ShrinkCall least_recently_used(StatusCache& cache, std::uint64_t budget) {
  return budget == 0 ? ShrinkCall{} : in_turn<walk_from_start>(cache, budget);
}

constexpr std::array kModels = {
    ReclaimModel{
        "round-robin", "inodes in turn, each from where it was left; entries that must stay count",
        "Linux 6.1 to 7.3, __es_shrink and es_do_reclaim_extents", false, in_turn<walk_all>},
    ReclaimModel{"evictable", "the same, but entries that must stay are never met",
                 "kernel/patches/es-shrinker, after the posting of 2013", false,
                 in_turn<walk_evictable>},
    ReclaimModel{"lru-2013",
                 "inodes by last use, each from its start; no second chance, no bound on visits",
                 "Linux 3.10 to 3.18, ext4_es_shrink", true, least_recently_used},
};

}  // namespace

std::span<const ReclaimModel> models() {
  return kModels;
}

const ReclaimModel* find_model(std::string_view name) {
  for (const ReclaimModel& model : kModels)
    if (model.name == name) return &model;
  return nullptr;
}

}  // namespace e4r::shrinker
