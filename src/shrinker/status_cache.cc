// SPDX-License-Identifier: GPL-2.0-or-later
#include "shrinker/status_cache.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace e4r::shrinker {
namespace {

namespace es = trace::es;

constexpr std::uint32_t kType = es::written | es::unwritten | es::delayed | es::hole;

// Whether `right` has the same type as `left` and follows it directly.
bool continues(const Entry& left, const Entry& right) {
  if ((left.flags & kType) != (right.flags & kType) || left.last() + 1 != right.logical)
    return false;
  if (left.mapped()) return left.block + left.len == right.block;
  return (left.flags & (es::hole | es::delayed)) != 0;
}

}  // namespace

StatusTree::Position StatusTree::search(std::uint64_t logical) {
  const auto behind = entries_.upper_bound(logical);
  if (behind == entries_.begin()) return behind;
  const auto before = std::prev(behind);
  return before->second.last() >= logical ? before : behind;
}

StatusTree::Position StatusTree::find(std::uint64_t logical) {
  const auto at = search(logical);
  return at == entries_.end() || at->first > logical ? entries_.end() : at;
}

// Merges the next entry into the entry at `at` if it has the same type and follows directly.
void StatusTree::join_next(Position at) {
  const auto next = std::next(at);
  if (next == entries_.end() || !continues(at->second, next->second)) return;
  at->second.len += next->second.len;
  at->second.flags |= next->second.flags & es::referenced;
  reclaim(next);
}

// Inserts an entry whose range is not in the tree. Merges it with a neighbour if possible; the
// entry's own referenced mark is then lost.
void StatusTree::add(const Entry& entry) {
  const auto next = entries_.lower_bound(entry.logical);
  if (next != entries_.begin()) {
    const auto before = std::prev(next);
    if (continues(before->second, entry)) {
      before->second.len += entry.len;
      return join_next(before);
    }
  }
  if (next != entries_.end() && continues(entry, next->second)) {
    auto node = entries_.extract(next);
    node.mapped().len += entry.len;
    node.mapped().block = entry.mapped() ? entry.block : node.mapped().block;
    node.key() = node.mapped().logical = entry.logical;
    entries_.insert(std::move(node));
    return;
  }
  if (count_) count_(entry, +1);
  entries_.emplace_hint(next, entry.logical, entry);
}

StatusTree::Position StatusTree::reclaim(Position entry) {
  if (count_) count_(entry->second, -1);
  return entries_.erase(entry);
}

// Moves the start of the entry to `first`, which lies inside it.
void StatusTree::shorten_front(Position at, std::uint64_t first) {
  auto node = entries_.extract(at);
  Entry& entry = node.mapped();
  if (entry.mapped()) entry.block += first - entry.logical;
  entry.len = entry.last() - first + 1;
  node.key() = entry.logical = first;
  entries_.insert(std::move(node));
}

void StatusTree::remove(std::uint64_t logical, std::uint64_t len) {
  const std::uint64_t last = logical + len - 1;
  auto at = search(logical);
  if (at == entries_.end() || at->first > last) return;
  if (at->first < logical) {
    const Entry whole = at->second;
    at->second.len = logical - whole.logical;
    if (whole.last() > last) {
      Entry tail = whole;
      tail.logical = last + 1;
      tail.len = whole.last() - last;
      if (whole.mapped()) tail.block += tail.logical - whole.logical;
      return add(tail);
    }
    ++at;
  }
  while (at != entries_.end() && at->second.last() <= last) at = reclaim(at);
  if (at != entries_.end() && at->first <= last) shorten_front(at, last + 1);
}

void StatusTree::insert(const Entry& entry) {
  remove(entry.logical, entry.len);
  add(entry);
}

void StatusTree::cache(const Entry& entry) {
  const auto at = search(entry.logical);
  if (at == entries_.end() || at->first > entry.last()) add(entry);
}

std::optional<Entry> StatusTree::look_up(std::uint64_t logical) {
  const auto at = find(logical);
  if (at == entries_.end()) return std::nullopt;
  const Entry entry = at->second;
  at->second.flags |= es::referenced;
  return entry;
}

StatusCache::Inode& StatusCache::inode(std::uint64_t ino) {
  std::unique_ptr<Inode>& slot = inodes_[ino];
  if (slot == nullptr) {
    slot = std::make_unique<Inode>();
    Inode* const made = slot.get();
    made->ino = ino;
    made->tree = StatusTree([this, made](const Entry& entry, int by) { count(*made, entry, by); });
  }
  return *slot;
}

void StatusCache::count(Inode& inode, const Entry& entry, int by) {
  entries_ += static_cast<std::uint64_t>(by);
  if (entry.must_keep()) return;
  if (by > 0 && inode.reclaimable == 0) inode.place = list_.insert(list_.end(), &inode);
  inode.reclaimable += static_cast<std::uint64_t>(by);
  reclaimable_ += static_cast<std::uint64_t>(by);
  if (by < 0 && inode.reclaimable == 0) list_.erase(inode.place);
}

void StatusCache::use(Inode& inode) {
  if (by_use_ && inode.reclaimable > 0) list_.splice(list_.end(), list_, inode.place);
}

void StatusCache::drop_if_empty(Inode& inode) {
  if (inode.tree.size() == 0 && inode.reclaimed.size() == 0) inodes_.erase(inode.ino);
}

void StatusCache::insert(std::uint64_t ino, const Entry& entry) {
  Inode& of = inode(ino);
  of.reclaimed.remove(entry.logical, entry.len);
  of.tree.insert(entry);
  use(of);
}

void StatusCache::cache(std::uint64_t ino, const Entry& entry) {
  Inode& of = inode(ino);
  of.reclaimed.remove(entry.logical, entry.len);
  of.tree.cache(entry);
  use(of);
}

void StatusCache::remove(std::uint64_t ino, std::uint64_t logical, std::uint64_t len) {
  const auto found = inodes_.find(ino);
  if (found == inodes_.end()) return;
  Inode& of = *found->second;
  of.reclaimed.remove(logical, len);
  of.tree.remove(logical, len);
  drop_if_empty(of);
}

StatusCache::Found StatusCache::look_up(std::uint64_t ino, std::uint64_t logical) {
  const auto found = inodes_.find(ino);
  if (found == inodes_.end()) return {};
  Inode& of = *found->second;
  use(of);
  Found out;
  out.entry = of.tree.look_up(logical);
  out.was_reclaimed = !out.entry && of.reclaimed.find(logical) != of.reclaimed.end();
  return out;
}

void StatusCache::forget(std::uint64_t ino, std::uint64_t logical) {
  const auto found = inodes_.find(ino);
  if (found == inodes_.end()) return;
  Inode& of = *found->second;
  const auto entry = of.tree.find(logical);
  if (entry != of.tree.end()) of.tree.reclaim(entry);
  drop_if_empty(of);
}

StatusTree::Position StatusCache::reclaim(Inode& inode, StatusTree::Position entry) {
  inode.reclaimed.insert(entry->second);
  return inode.tree.reclaim(entry);
}

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
