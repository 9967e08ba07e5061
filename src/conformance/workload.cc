// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "replay/agreement.h"

namespace e4r::conformance {
namespace {

using trace::EventKind;

constexpr std::uint64_t kFirstInode = 12;

}  // namespace

ModelFiles add_old_files(ModelFs& fs, Rng& rng, std::uint32_t count, std::uint32_t clusters,
                         std::uint32_t longest) {
  ModelFiles files;
  for (std::uint32_t i = 0; i < count; ++i) {
    ModelFile file;
    file.clusters = fs.add_file(rng, clusters, longest);
    file.old = file.clusters;
    if (!file.clusters.empty())
      file.size = (std::uint64_t{file.clusters.rbegin()->first} + 1)
                  << (fs.geometry().cluster_bits + fs.geometry().block_bits);
    files.emplace(kFirstInode + i, std::move(file));
  }
  return files;
}

Workload::Workload(allocator::Allocator& allocator, const ModelFs& fs, ModelFiles files,
                   const WorkloadOptions& options)
    : allocator_(&allocator),
      geometry_(fs.geometry()),
      options_(options),
      rng_(options.seed),
      writer_(options.inputs),
      files_(std::move(files)),
      used_(fs.words()) {
  for (std::uint32_t group = 0; group < geometry_.groups; ++group)
    seen_loaded_.push_back(!allocator.state().group(group).need_init);
  for (const auto& words : used_)
    free_ += state::bitmap::count_clear(words, geometry_.clusters_per_group);
}

std::uint64_t Workload::count_strays(const state::FsState& state) const {
  auto used = used_;
  for (const Pending& p : pending_) state::bitmap::clear_range(used[p.group], p.start, p.len);
  std::uint64_t strays = 0;
  std::vector<std::uint64_t> words;
  for (std::uint32_t group = 0; group < geometry_.groups; ++group) {
    state.settled_words(group, words);
    for (std::size_t i = 0; i < words.size(); ++i)
      strays += static_cast<std::uint64_t>(std::popcount(words[i] ^ used[group][i]));
  }
  return strays;
}

void Workload::run(std::uint32_t steps) {
  for (std::uint32_t i = 0; i < steps; ++i) step();
}

void Workload::step() {
  step_by(0);
}

Thread Workload::thread(std::uint32_t depth) {
  return {100 + depth, static_cast<std::uint16_t>(rng_.below(options_.cpus))};
}

// Returns a file on which no thread is working, or 0.
std::uint64_t Workload::pick() {
  if (files_.empty()) return 0;
  auto it = files_.begin();
  std::advance(it, rng_.below(files_.size()));
  return it->second.busy ? 0 : it->first;
}

// Lets other threads run in the middle of an allocation.
void Workload::others(std::uint32_t depth) {
  if (depth + 1 < options_.threads && rng_.chance(1, 5)) step_by(depth + 1);
}

void Workload::step_by(std::uint32_t depth) {
  static constexpr std::pair<Action, std::uint32_t> kWeights[] = {
      {Action::create, 14},  {Action::append, 30}, {Action::write, 14},   {Action::fallocate, 4},
      {Action::metadata, 6}, {Action::close, 8},   {Action::truncate, 5}, {Action::punch, 4},
      {Action::remove, 9},   {Action::load, 2},    {Action::commit, 8},
  };
  auto ticket = static_cast<std::uint32_t>(rng_.below(104));
  const auto* chosen = kWeights;
  while (ticket >= chosen->second) ticket -= chosen++->second;
  if (chosen->first == Action::commit) return commit_step();
  if (chosen->first == Action::create) return create(depth);
  const std::uint64_t ino = pick();
  if (ino == 0) return;
  files_[ino].busy = true;
  act(chosen->first, ino, depth);
  if (const auto file = files_.find(ino); file != files_.end()) file->second.busy = false;
}

void Workload::act(Action action, std::uint64_t ino, std::uint32_t depth) {
  const ClusterMap& map = files_[ino].clusters;
  const std::uint32_t end = map.empty() ? 0 : map.rbegin()->first + 1;
  const auto at = static_cast<std::uint32_t>(rng_.below(std::uint64_t{end} + 20));
  switch (action) {
    case Action::append:
      return append(ino, depth);
    case Action::write:
      return write(ino, at, some_clusters(), mb::hint_data, depth);
    case Action::fallocate:
      return write(ino, end, some_clusters(), mb::hint_data | mb::hint_noprealloc, depth);
    case Action::metadata:
      return add_metadata(ino, depth);
    case Action::close:
      return discard(ino, depth);
    case Action::truncate:
      discard(ino, depth);
      files_[ino].size =
          std::min(files_[ino].size, geometry_.to_blocks(at) << geometry_.block_bits);
      return remove_range(ino, at, ~0u, depth);
    case Action::punch:
      discard(ino, depth);
      return remove_range(ino, at, at + some_clusters(), depth);
    case Action::remove:
      return remove(ino, depth);
    default: {
      const auto group = static_cast<std::uint32_t>(rng_.below(geometry_.groups));
      writer_.add_load(thread(depth), group);
      // A trace does not show loads by searches. So this is a reload only if an earlier event has
      // shown a load of the group, as for a reader of the trace.
      if (seen_loaded_[group])
        allocator_->note_reload(group);
      else
        allocator_->load_by_others(group);
      seen_loaded_[group] = true;
      return changed();
    }
  }
}

// A random size: usually small, sometimes large.
std::uint32_t Workload::some_clusters() {
  const auto top = static_cast<std::uint32_t>(fls(options_.largest));
  const std::uint64_t limit = std::min<std::uint64_t>(2ull << rng_.below(top), options_.largest);
  return static_cast<std::uint32_t>(rng_.between(1, limit));
}

void Workload::create(std::uint32_t depth) {
  if (files_.size() >= options_.most_files) return;
  const std::uint64_t inodes = std::uint64_t{geometry_.groups} * geometry_.inodes_per_group;
  const std::uint64_t ino = rng_.between(kFirstInode, inodes);
  if (files_.contains(ino)) return;
  writer_.add_inode_event(thread(depth), EventKind::allocate_inode, ino);
  allocator_->state().clear_block_uninit(
      static_cast<std::uint32_t>((ino - 1) / geometry_.inodes_per_group));
  files_[ino].busy = true;
  append(ino, depth);
  files_[ino].busy = false;
}

// Appends to a file. With delayed allocation, the file gets its size before its blocks.
void Workload::append(std::uint64_t ino, std::uint32_t depth) {
  ModelFile& file = files_[ino];
  const std::uint32_t first = file.clusters.empty() ? 0 : file.clusters.rbegin()->first + 1;
  const std::uint32_t count = some_clusters();
  const std::uint32_t bits = geometry_.cluster_bits + geometry_.block_bits;
  const std::uint64_t size = (std::uint64_t{first + count} << bits) - rng_.below(1ull << bits);
  const bool delayed = rng_.chance(1, 2) && count <= free_;
  if (delayed) file.size = std::max(file.size, size);
  write(ino, first, count, mb::hint_data | (delayed ? mb::delalloc_reserved : 0), depth);
  file.size = std::max(file.size, size);
}

void Workload::write(std::uint64_t ino, std::uint32_t first, std::uint32_t count,
                     std::uint32_t flags, std::uint32_t depth) {
  ModelFile& file = files_[ino];
  const std::uint32_t end = first + count;
  for (std::uint32_t at = first; at < end;) {
    const auto next = file.clusters.lower_bound(at);
    if (next != file.clusters.end() && next->first == at) {
      ++at;
      continue;
    }
    const std::uint32_t limit = next == file.clusters.end() ? end : std::min(end, next->first);
    std::uint64_t block = 0;
    const std::uint32_t got = allocate(request_for(ino, at, limit - at, flags), &block, depth);
    if (got == 0) return;
    for (std::uint32_t i = 0; i < got; ++i)
      file.clusters.emplace_hint(next, at + i, block + geometry_.to_blocks(i));
    at += got;
  }
}

// Makes the request that the kernel's extent tree code makes for a hole. Its goal is next to the
// nearest mapped block.
allocator::Request Workload::request_for(std::uint64_t ino, std::uint32_t first, std::uint32_t len,
                                         std::uint32_t flags) {
  const ModelFile& file = files_[ino];
  const std::uint32_t ratio = 1u << geometry_.cluster_bits;
  allocator::Request r;
  r.ino = ino;
  r.len = len;
  r.logical = first * ratio;
  r.flags = flags;
  r.goal =
      geometry_.first_block(static_cast<std::uint32_t>((ino - 1) / geometry_.inodes_per_group));
  const auto right = file.clusters.lower_bound(first);
  if (right != file.clusters.end()) {
    r.right_logical = right->first * ratio;
    r.right_block = right->second;
    if (right->second > r.right_logical) r.goal = right->second - (r.right_logical - r.logical);
  }
  if (right != file.clusters.begin()) {
    const auto left = std::prev(right);
    r.left_logical = (left->first + 1) * ratio - 1;
    r.left_block = left->second + ratio - 1;
    r.goal = r.left_block + (r.logical - r.left_logical);
  }
  r.inputs_exact = true;
  r.size_hint = file.size;
  r.open_for_write = rng_.chance(3, 4);
  return r;
}

void Workload::add_metadata(std::uint64_t ino, std::uint32_t depth) {
  allocator::Request request;
  request.ino = ino;
  request.len = rng_.chance(1, 6) ? static_cast<std::uint32_t>(rng_.between(2, 4)) : 1;
  request.goal = rng_.between(geometry_.first_data_block, geometry_.blocks_count - 1);
  std::uint64_t block = 0;
  const std::uint32_t got = allocate(request, &block, depth);
  if (got > 0) files_[ino].metadata.emplace_back(block, got);
}

std::uint32_t Workload::allocate(allocator::Request request, std::uint64_t* block,
                                 std::uint32_t depth) {
  const Thread me = thread(depth);
  request.cpu = me.cpu;
  KernelTraceWriter::Open open = writer_.open(me, request, request.len);
  others(depth);
  if ((request.flags & mb::delalloc_reserved) == 0)
    while (request.len > free_) request.len /= 2;
  if (request.len == 0) {
    writer_.refuse(open);
    return 0;
  }
  const allocator::Decision decision = allocator_->allocate(request);
  ++decisions_;
  if (!decision.success) ++failed_;
  judge(request, decision);
  if (decision.success) {
    set_used(decision.block, decision.len, true);
    free_ -= std::min<std::uint64_t>(free_, decision.len);
  }
  writer_.mark_decision(open, decision);
  changed();
  others(depth);
  writer_.finish(open, decision);
  *block = decision.block;
  return decision.success ? decision.len : 0;
}

void Workload::judge(const allocator::Request& request, const allocator::Decision& d) {
  const auto expect = [&](bool ok, const char* what) {
    if (!ok && problems_.size() < 20)
      problems_.push_back(
          fmt::format("decision {} ({}): {}", decisions_, replay::describe(d), what));
  };
  if (!d.success) return expect(d.len == 0 && d.result.len == 0, "failure with a result");
  expect(d.len > 0 && d.len <= request.len, "length is not between 1 and the request's");
  expect(d.prealloc || d.result.len <= d.goal.len, "longer than the goal");
  const auto outside = [&](const Extent& e) {
    return e.group >= geometry_.groups || e.start + e.len > geometry_.clusters_in(e.group);
  };
  if (outside(d.result)) return expect(false, "result outside its group");
  const std::size_t first = index_of(geometry_.block_of(d.result.group, d.result.start));
  for (std::uint32_t i = 0; i < d.result.len; ++i)
    expect(!state::bitmap::test(used_[d.result.group], d.result.start + i),
           "takes clusters that are in use");
  const std::size_t given = index_of(d.block);
  expect(given >= first && given + d.len <= first + d.result.len, "hands out what it did not take");
}

std::size_t Workload::index_of(std::uint64_t block) const {
  return std::size_t{geometry_.group_of(block)} * geometry_.clusters_per_group +
         geometry_.cluster_in_group(block);
}

void Workload::set_used(std::uint64_t block, std::uint32_t len, bool used) {
  const std::uint32_t start = geometry_.cluster_in_group(block);
  const std::uint32_t count = std::min(len, geometry_.clusters_per_group - start);
  auto& words = used_[geometry_.group_of(block)];
  if (used)
    state::bitmap::set_range(words, start, count);
  else
    state::bitmap::clear_range(words, start, count);
}

void Workload::discard(std::uint64_t ino, std::uint32_t depth) {
  writer_.add_discard(thread(depth), ino);
  allocator_->discard_inode(ino, 0);
  changed();
}

// Frees the clusters [first, end) of the file, the last run first.
void Workload::remove_range(std::uint64_t ino, std::uint32_t first, std::uint32_t end,
                            std::uint32_t depth) {
  ClusterMap& map = files_[ino].clusters;
  const std::uint64_t ratio = geometry_.to_blocks(1);
  auto at = map.lower_bound(end);
  const auto stop = map.lower_bound(first);
  while (at != stop) {
    auto head = std::prev(at);
    const std::uint32_t last = head->first;
    while (head != stop && std::prev(head)->first + 1 == head->first &&
           std::prev(head)->second + ratio == head->second)
      --head;
    free_run(ino, head->second, last - head->first + 1, depth);
    at = head;
  }
  map.erase(map.lower_bound(first), map.lower_bound(end));
  ClusterMap& old = files_[ino].old;
  old.erase(old.lower_bound(first), old.lower_bound(end));
}

void Workload::free_run(std::uint64_t ino, std::uint64_t block, std::uint32_t len,
                        std::uint32_t depth) {
  while (len > 0) {
    const std::uint32_t group = geometry_.group_of(block);
    const std::uint32_t start = geometry_.cluster_in_group(block);
    const std::uint32_t count = std::min(len, geometry_.clusters_per_group - start);
    writer_.add_free(thread(depth), ino, group, start, count);
    const Status status =
        allocator_->state().free_clusters(group, start, count, transaction_, !geometry_.journal);
    if (!status.ok()) problems_.push_back(status.error().message);
    free_ += count;
    if (geometry_.journal)
      pending_.push_back({transaction_, group, start, count});
    else
      set_used(block, count, false);
    changed();
    block += geometry_.to_blocks(count);
    len -= count;
  }
}

void Workload::remove(std::uint64_t ino, std::uint32_t depth) {
  discard(ino, depth);
  remove_range(ino, 0, ~0u, depth);
  for (const auto& [block, len] : files_[ino].metadata) free_run(ino, block, len, depth);
  writer_.add_inode_event(thread(depth), EventKind::free_inode, ino);
  allocator_->state().forget_inode(ino);
  files_.erase(ino);
}

void Workload::commit_step() {
  if (!geometry_.journal) return;
  flushing_ = !flushing_;
  if (flushing_) return writer_.add_commit(EventKind::commit_flushing, transaction_++);
  const std::uint64_t done = transaction_ - 1;
  allocator_->state().commit(done);
  writer_.add_commit(EventKind::end_commit, done);
  std::erase_if(pending_, [&](const Pending& p) {
    if (p.transaction != done) return false;
    set_used(geometry_.block_of(p.group, p.start), p.len, false);
    return true;
  });
  changed();
}

void Workload::commit_everything() {
  for (int i = 0; i < 4 || flushing_; ++i) commit_step();
}

void Workload::delete_everything() {
  while (!files_.empty()) remove(files_.begin()->first, 0);
  commit_everything();
}

}  // namespace e4r::conformance
