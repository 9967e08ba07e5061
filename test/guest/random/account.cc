// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/random/account.h"

#include <algorithm>
#include <iterator>

#include "ext4/criterion.h"

namespace e4r::test::random {

Account::Account(const state::Source& source) : geometry_(source.geometry) {
  for (const state::GroupSource& group : source.groups) free_ += group.disk_free;
  // ext4_set_resv_clusters reserves 2 %, at most 4,096 clusters, on file systems with extents.
  constexpr std::uint64_t kShare = 50, kMost = 4096;
  if (geometry_.extents)
    reserved_ = std::min((geometry_.blocks_count >> geometry_.cluster_bits) / kShare, kMost);
}

std::optional<allocator::Request> Account::next_request(const Step& write,
                                                        std::uint32_t from) const {
  static const File kNone;
  const auto found = files_.find(write.ino);
  const auto& pieces = (found == files_.end() ? kNone : found->second).pieces;
  const std::uint64_t end = std::uint64_t{write.at} + write.len;
  std::uint64_t at = std::max(from, write.at);
  auto right = pieces.upper_bound(static_cast<std::uint32_t>(at));
  if (right != pieces.begin()) {
    const auto& [first, piece] = *std::prev(right);
    at = std::max(at, std::uint64_t{first} + piece.len);
  }
  for (; right != pieces.end() && right->first == at; ++right) at += right->second.len;
  const std::uint64_t limit =
      right == pieces.end() ? end : std::min<std::uint64_t>(end, right->first);
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
  // With bigalloc, an extent may begin or end inside a cluster.
  const auto lacks = [&](std::uint32_t cluster) {
    return (cluster + static_cast<std::uint32_t>(write.ino)) % 3 == 0 ? cluster % ratio : 0;
  };
  if (right != pieces.end()) {
    r.right_logical = right->first * ratio + lacks(right->first);
    r.right_block = right->second.block + lacks(right->first);
    if (r.right_block > r.right_logical - r.logical)
      r.goal = r.right_block - (r.right_logical - r.logical);
  }
  if (right != pieces.begin()) {
    const auto& [first, piece] = *std::prev(right);
    const std::uint32_t last = first + piece.len - 1;
    r.left_logical = (last + 1) * ratio - 1 - lacks(last);
    r.left_block = piece.block + geometry_.to_blocks(piece.len) - 1 - lacks(last);
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
  add_piece(file, *logical >> geometry_.cluster_bits, {decision.block, decision.len});
}

// Joins a piece with its neighbours that are adjacent both in the file and on the disk.
void Account::add_piece(File& file, std::uint32_t first, Piece piece) {
  const auto next = file.pieces.lower_bound(first + piece.len);
  if (next != file.pieces.end() && next->first == first + piece.len &&
      next->second.block == piece.block + geometry_.to_blocks(piece.len)) {
    piece.len += next->second.len;
    file.pieces.erase(next);
  }
  const auto behind = file.pieces.lower_bound(first);
  if (behind != file.pieces.begin()) {
    auto& [start, before] = *std::prev(behind);
    if (start + before.len == first &&
        before.block + geometry_.to_blocks(before.len) == piece.block) {
      before.len += piece.len;
      return;
    }
  }
  file.pieces[first] = piece;
}

// Splits a run of clusters at the ends of groups.
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
  auto& pieces = found->second.pieces;
  const std::uint64_t end = std::uint64_t{at} + len;
  auto it =
      pieces.lower_bound(static_cast<std::uint32_t>(std::min<std::uint64_t>(end, UINT32_MAX)));
  while (it != pieces.begin()) {  // goes from the last piece to the first
    --it;
    const auto [first, piece] = *it;
    const std::uint64_t piece_end = std::uint64_t{first} + piece.len;
    if (piece_end <= at) break;
    const std::uint32_t from = std::max(first, at);
    const auto to = static_cast<std::uint32_t>(std::min(piece_end, end));
    add_run(piece.block + geometry_.to_blocks(from - first), to - from, out);
    if (to < piece_end)
      pieces[to] = {piece.block + geometry_.to_blocks(to - first),
                    static_cast<std::uint32_t>(piece_end - to)};
    if (from > first)
      it->second.len = from - first;
    else
      it = pieces.erase(it);
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
