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
    : state_(source, group_index(policy, tunables), policy.kernel.freed),
      allocator_(state_, policy, effective(policy, tunables)) {
  pretence_.limit_to_walks();
}

void Model::copy_from(const Model& other) {
  state_.copy_from(other.state_);
  allocator_.copy_from(other.allocator_);
  transaction_ = other.transaction_;
}

Decision Model::allocate(const Request& request, Guide* guide) {
  if (clock_) {
    clock_->begin();
    allocator_.observe(&*clock_);
  }
  const Decision decision = allocator_.allocate(request, guide);
  pretence_.end();
  if (!clock_) return decision;
  allocator_.observe(nullptr);
  const Geometry& geometry = state_.geometry();
  clock_->end(decision, decision.success ? geometry.group_of(decision.block) : 0);
  return decision;
}

bool Model::free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters, bool file_data) {
  const bool at_once = state_.geometry().frees_at_once(file_data);
  if (!state_.free_clusters(group, start, clusters, transaction_, at_once).ok()) return false;
  if (at_once && state_.geometry().discard) discards_.free_at_once(state_, group, start, clusters);
  return true;
}

bool Model::give_back(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) {
  return state_.free_clusters(group, start, clusters, transaction_, true).ok();
}

// Transactions commit one after the other: when the next one begins to commit, the previous one has
// ended.
void Model::begin_commit() {
  if (const auto transaction = committing()) state_.commit(*transaction);
  state_.set_committing(transaction_++);
}

void Model::end_commit() {
  if (const auto transaction = committing()) state_.commit(*transaction);
  state_.set_committing(std::nullopt);
}

void Model::commit_until(std::uint64_t event) {
  if (const auto transaction = committing()) state_.commit(*transaction, event);
}

void Model::unlink_until(std::uint64_t event) {
  if (const auto transaction = committing()) state_.unlink_freed(*transaction, event);
}

std::uint64_t Model::send_discards(std::uint64_t most) {
  discards_.commit(state_.take_given_back());
  return discards_.work(state_, most);
}

std::uint64_t Model::trim(Trim& trim, std::uint64_t most) {
  trimmed_ = true;
  return discards_.work(state_, trim, most);
}

void Model::touch(std::uint32_t number, std::uint32_t start, std::uint32_t clusters) {
  state_.load(number);
  state::Group& group = state_.group(number);
  if (group.corrupt) return;
  const std::uint32_t end = start + clusters;
  std::uint32_t at = state::bitmap::find_clear(state_.words(group), end, start);
  while (at < end) {
    const std::uint32_t next = state::bitmap::find_set(state_.words(group), end, at);
    (void)state_.take(group, at, next - at);
    (void)state_.give(group, at, next - at);
    at = state::bitmap::find_clear(state_.words(group), end, next);
  }
}

void Model::make_inode(std::uint64_t ino) {
  // A new inode has no preallocations, even if the trace lost the event that released the old ones.
  allocator_.discard_inode(ino, 0);
  state_.note_made(ino);
}

}  // namespace e4r::allocator
