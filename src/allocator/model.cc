// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/model.h"

namespace e4r::allocator {

namespace {

Tunables effective(const Policy& policy, Tunables tunables) {
  if (policy.walk_only) tunables.mb_optimize_scan = 0;
  return tunables;
}

}  // namespace

Model::Model(const state::Source& source, const Policy& policy, const Tunables& tunables)
    : state_(source, group_index(policy, tunables)),
      allocator_(state_, policy, effective(policy, tunables)) {}

bool Model::free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters, bool file_data) {
  const bool at_once = state_.geometry().frees_at_once(file_data);
  return state_.free_clusters(group, start, clusters, transaction_, at_once).ok();
}

bool Model::give_back(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) {
  return state_.free_clusters(group, start, clusters, transaction_, true).ok();
}

// One transaction commits after the other: when the next one flushes, the one before has ended.
void Model::begin_commit() {
  if (committing_) state_.commit(transaction_ - 1);
  committing_ = true;
  ++transaction_;
}

void Model::end_commit() {
  if (committing_) state_.commit(transaction_ - 1);
  committing_ = false;
}

void Model::make_inode(std::uint64_t ino) {
  // A new inode has no preallocations, even if the event that released the old one's was lost.
  allocator_.discard_inode(ino, 0);
  state_.note_made(ino);
}

}  // namespace e4r::allocator
