// SPDX-License-Identifier: GPL-2.0-or-later
#include "shrinker/status_cache.h"

namespace e4r::shrinker {

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

}  // namespace e4r::shrinker
