// SPDX-License-Identifier: GPL-2.0-or-later
// Operations at any offset of a file.
#include <algorithm>
#include <bit>

#include "age/ager.h"

namespace e4r::age {
namespace {

// The maximum number of blocks of an unwritten extent (EXT_UNWRITTEN_MAX_LEN). fallocate requests
// at most this many at a time.
constexpr std::uint64_t kUnwrittenBlocks = (1 << 15) - 1;
// The maximum number of blocks that direct I/O maps at a time (DIO_MAX_BLOCKS).
constexpr std::uint64_t kDirectBlocks = 4096;

}  // namespace

// The file block after the last block of the operation.
std::uint64_t Ager::end_block(const Operation& operation) const {
  const std::uint32_t bits = geometry_.block_bits;
  return (operation.offset + operation.bytes + (1ull << bits) - 1) >> bits;
}

// The first hole in the file blocks [from, to); empty if all are mapped.
BlockSpan Ager::next_hole(std::uint32_t slot, std::uint64_t from, std::uint64_t to) const {
  while (from < to) {
    const ExtentTree::Neighbours near = files_[slot].around(from);
    if (!near.left || near.left->end() <= from)
      return {from, near.right ? std::min(to, near.right->logical) : to};
    from = near.left->end();
  }
  return {};
}

// The number of unmapped blocks among the file blocks [from, to).
std::uint64_t Ager::holes(std::uint32_t slot, std::uint64_t from, std::uint64_t to) const {
  std::uint64_t out = 0;
  for (BlockSpan hole = next_hole(slot, from, to); !boost::icl::is_empty(hole);
       hole = next_hole(slot, hole.upper(), to))
    out += boost::icl::length(hole);
  return out;
}

Result<bool> Ager::map_holes(Part part, std::uint64_t from, std::uint64_t to, std::uint64_t most) {
  bool cut = false;  // the last result was too short and ended inside a folio
  for (BlockSpan hole = next_hole(part.slot, from, to); !boost::icl::is_empty(hole);
       hole = next_hole(part.slot, hole.lower(), to)) {
    part.logical = geometry_.whole_clusters_below(hole.lower());
    part.blocks = std::min(hole.upper() - part.logical, most);
    if (cut) part.blocks = std::min(part.blocks, part.folio - part.logical % part.folio);
    E4R_TRY(const bool given,
            give_blocks(part, false, fmt::format("blocks asked for: {}", part.blocks)));
    if (!given) {
      tally_.lost_bytes += holes(part.slot, part.logical, to) << geometry_.block_bits;
      return false;
    }
    const std::uint64_t reached = files_[part.slot].around(part.logical).left->end();
    cut = reached < part.logical + part.blocks && reached % part.folio != 0;
    if (part.grows_to == 0) continue;
    bytes_[part.slot] =
        std::max(bytes_[part.slot], std::min(part.grows_to, reached << geometry_.block_bits));
    part.i_size = bytes_[part.slot];
  }
  return true;
}

Status Ager::write_at(const Operation& operation) {
  const std::uint32_t slot = operation.slot;
  const std::uint64_t first = operation.offset >> geometry_.block_bits;
  const std::uint64_t end = end_block(operation);
  const std::uint64_t from = geometry_.whole_clusters_below(first);
  const std::uint64_t to = geometry_.whole_clusters_from(end);
  Dirty& dirty = dirty_parts_[slot];
  const std::uint64_t wanted =
      std::min(count_missing(dirty.blocks, {from, to}), holes(slot, from, to));
  // If no space can be reserved, the write itself fails.
  if (options_.goes_on_when_full && !has_room(wanted, false)) {
    ++tally_.failed;
    tally_.lost_bytes += operation.bytes;
    return {};
  }
  dirty.blocks += BlockSpan(from, to);
  if (options_.large_folios) dirty.folio = std::max(dirty.folio, std::bit_floor(end - first));
  dirty.reserved += wanted;
  reserved_ += wanted;
  bytes_[slot] = std::max(bytes_[slot], operation.offset + operation.bytes);
  if (!is_dirty_[slot]) dirty_.push_back(slot);
  is_dirty_[slot] = true;
  return {};
}

Status Ager::write_directly(const Operation& operation) {
  Part part = {.slot = operation.slot, .i_size = bytes_[operation.slot]};
  part.cpu = operation.writer;
  E4R_TRY(const bool done, map_holes(part, operation.offset >> geometry_.block_bits,
                                     end_block(operation), kDirectBlocks));
  if (done)
    bytes_[operation.slot] = std::max(bytes_[operation.slot], operation.offset + operation.bytes);
  return {};
}

Status Ager::preallocate(const Operation& operation) {
  const std::uint64_t first = operation.offset >> geometry_.block_bits;
  const std::uint64_t end = end_block(operation);
  Part part = {.slot = operation.slot, .i_size = bytes_[operation.slot]};
  part.cpu = operation.writer;
  if (operation.kind == Operation::Kind::extend) part.grows_to = operation.offset + operation.bytes;
  // The kernel does not normalise a request that fits into one extent to a rounder size.
  if (end - first <= kUnwrittenBlocks) part.flags = mb::hint_noprealloc;
  E4R_TRY([[maybe_unused]] const bool done, map_holes(part, first, end, kUnwrittenBlocks));
  return {};
}

// Whole blocks become a hole (ext4_punch_hole), and whole clusters are freed. Dirty data in the
// range is written back first.
Status Ager::punch(const Operation& operation) {
  const std::uint32_t slot = operation.slot, bits = geometry_.block_bits;
  E4R_CHECK(write_back(slot, true));
  const std::uint64_t from =
      geometry_.whole_clusters_from((operation.offset + (1ull << bits) - 1) >> bits);
  const std::uint64_t to =
      geometry_.whole_clusters_below((operation.offset + operation.bytes) >> bits);
  if (from >= to) return {};
  decider_.discard_inode(options_.inodes[slot], 0);
  std::vector<ExtentTree::NodeGoal> nodes;
  const std::uint64_t had = files_[slot].blocks();
  std::vector<std::pair<BlockRange, bool>> gone;
  if (!files_[slot].punch(from, to, 1u << bits, nodes, [&gone](const BlockRange& run, bool data) {
        gone.emplace_back(run, data);
      }))
    return error("slot {}: more extents than an extent tree of depth 2 holds", slot);
  E4R_CHECK(add_nodes(slot, nodes));
  for (const auto& [run, data] : gone) free(run, data);
  tally_.punched += had - files_[slot].blocks();
  return decider_.status();
}

// Preallocations are kept while data waits for writeback (ext4_release_file).
Status Ager::close(std::uint32_t slot) {
  is_open_[slot] = false;
  if (!is_dirty_[slot]) decider_.discard_inode(options_.inodes[slot], 0);
  return decider_.status();
}

}  // namespace e4r::age
