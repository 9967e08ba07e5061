// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/random/account.h"

#include <algorithm>
#include <iterator>

#include "util/mballoc.h"

namespace e4r::test::random {

Account::Account(const state::Source& source) : geometry_(source.geometry) {
  for (const state::GroupSource& group : source.groups) free_ += group.disk_free;
  // ext4_set_resv_clusters: 2 %, at most 4,096, where files are mapped by extents.
  constexpr std::uint64_t kShare = 50, kMost = 4096;
  if (geometry_.extents)
    reserved_ = std::min((geometry_.blocks_count >> geometry_.cluster_bits) / kShare, kMost);
}

std::optional<allocator::Request> Account::next_request(const Step& write,
                                                        std::uint32_t from) const {
  static const File kNone;
  const auto found = files_.find(write.ino);
  const auto& clusters = (found == files_.end() ? kNone : found->second).clusters;
  const std::uint64_t end = std::uint64_t{write.at} + write.len;
  std::uint64_t at = std::max(from, write.at);
  auto right = clusters.lower_bound(static_cast<std::uint32_t>(at));
  for (; right != clusters.end() && right->first == at; ++right) ++at;
  const std::uint64_t limit =
      right == clusters.end() ? end : std::min<std::uint64_t>(end, right->first);
  if (at >= limit) return std::nullopt;
  const std::uint32_t ratio = 1u << geometry_.cluster_bits;
  allocator::Request r;
  r.ino = write.ino;
  r.len = static_cast<std::uint32_t>(limit - at);
  r.logical = static_cast<std::uint32_t>(at) * ratio;
  r.flags = write.flags;
  r.cpu = write.cpu;
  r.inputs_exact = true;
  r.size_hint = write.size;
  r.open_for_write = write.writers > 0;
  r.goal = geometry_.first_block(
      static_cast<std::uint32_t>((write.ino - 1) / geometry_.inodes_per_group));
  // With bigalloc an extent may begin and end within a cluster.
  const auto lacks = [&](std::uint32_t cluster) {
    return (cluster + static_cast<std::uint32_t>(write.ino)) % 3 == 0 ? cluster % ratio : 0;
  };
  if (right != clusters.end()) {
    r.right_logical = right->first * ratio + lacks(right->first);
    r.right_block = right->second + lacks(right->first);
    if (r.right_block > r.right_logical - r.logical)
      r.goal = r.right_block - (r.right_logical - r.logical);
  }
  if (right != clusters.begin()) {
    const auto left = std::prev(right);
    r.left_logical = (left->first + 1) * ratio - 1 - lacks(left->first);
    r.left_block = left->second + ratio - 1 - lacks(left->first);
    r.goal = r.left_block + (r.logical - r.left_logical);
  }
  if (write.goal != 0) r.goal = write.goal;
  return r;
}

allocator::Request Account::metadata_request(const Step& step) const {
  allocator::Request r;
  r.ino = step.ino;
  r.len = std::max(step.len, 1u);
  r.goal = step.goal;
  r.flags = step.flags;
  r.cpu = step.cpu;
  r.inputs_exact = true;
  r.size_hint = step.size;
  return r;
}

std::uint32_t Account::claimed(const allocator::Request& request) const {
  if ((request.flags & mb::delalloc_reserved) != 0) return request.len;
  const std::uint64_t kept = (request.flags & mb::use_reserved) != 0 ? 0 : reserved_;
  std::uint32_t len = request.len;
  while (len > 0 && free_ < len + kept) len /= 2;
  return len;
}

void Account::put(std::uint64_t ino, std::optional<std::uint32_t> logical,
                  const allocator::Decision& decision) {
  if (!decision.success) return;
  File& file = files_[ino];
  free_ -= std::min<std::uint64_t>(free_, decision.len);
  if (!logical) {
    file.metadata.emplace_back(decision.block, decision.len);
    return;
  }
  for (std::uint32_t i = 0; i < decision.len; ++i)
    file.clusters[(*logical >> geometry_.cluster_bits) + i] =
        decision.block + geometry_.to_blocks(i);
}

// Cuts a run of clusters at the ends of groups.
void Account::add_run(std::uint64_t block, std::uint32_t clusters, std::vector<FreedRun>& out) {
  free_ += clusters;
  while (clusters > 0) {
    FreedRun run = {geometry_.group_of(block), geometry_.cluster_in_group(block), 0};
    run.len = std::min(clusters, geometry_.clusters_per_group - run.start);
    out.push_back(run);
    block += geometry_.to_blocks(run.len);
    clusters -= run.len;
  }
}

std::vector<FreedRun> Account::take(std::uint64_t ino, std::uint32_t at, std::uint32_t len) {
  std::vector<FreedRun> out;
  const auto found = files_.find(ino);
  if (found == files_.end()) return out;
  auto& clusters = found->second.clusters;
  const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{at} + len, UINT32_MAX);
  auto it = clusters.lower_bound(static_cast<std::uint32_t>(end));
  const std::uint64_t ratio = geometry_.to_blocks(1);
  while (it != clusters.begin() && std::prev(it)->first >= at) {  // the last run of it first
    auto head = std::prev(it);
    const std::uint32_t last = head->first;
    while (head != clusters.begin() && head->first > at &&
           std::prev(head)->first + 1 == head->first &&
           std::prev(head)->second + ratio == head->second)
      --head;
    add_run(head->second, last - head->first + 1, out);
    it = clusters.erase(head, it);
  }
  return out;
}

std::vector<FreedRun> Account::take_metadata(std::uint64_t ino) {
  std::vector<FreedRun> out;
  const auto found = files_.find(ino);
  if (found == files_.end()) return out;
  for (const auto& [block, clusters] : found->second.metadata) add_run(block, clusters, out);
  found->second.metadata.clear();
  return out;
}

}  // namespace e4r::test::random
