// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/ager.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "util/parallel.h"

namespace e4r::age {

EverUsed::EverUsed(const state::Source& source)
    : blocks_count_(source.geometry.blocks_count), used_(blocks_count_, false) {
  const Geometry& geometry = source.geometry;
  std::fill_n(used_.begin(), static_cast<std::ptrdiff_t>(geometry.first_data_block), true);
  for (std::uint32_t group = 0; group < geometry.groups; ++group)
    for (std::uint32_t at = 0; at < geometry.clusters_in(group); ++at)
      if (state::bitmap::test(source.groups[group].words, at))
        std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(geometry.block_of(group, at)),
                    static_cast<std::ptrdiff_t>(geometry.to_blocks(1)), true);
}

void EverUsed::add(std::uint64_t first, std::uint64_t count) {
  std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(first),
              static_cast<std::ptrdiff_t>(count), true);
}

std::uint64_t EverUsed::pieces(std::uint32_t bits) const {
  std::uint64_t out = 0;
  std::uint64_t next = 0;  // start of the first piece that has not been counted
  for (std::uint64_t block = 0; block < blocks_count_; ++block) {
    if (block < next || !used_[block]) continue;
    ++out;
    next = ((block >> bits) + 1) << bits;
  }
  return out;
}

namespace {

// A process starts its files in one of sixteen parts of a group (ext4_inode_to_goal_block).
constexpr std::uint64_t kColours = 16;
// A flex group of at least this many groups reserves its first group for directories.
constexpr std::uint32_t kFlexWithDirectories = 4;
// The maximum number of blocks that delayed allocation requests at a time
// (MAX_WRITEPAGES_EXTENT_LEN).
constexpr std::uint64_t kDelayedBlocks = 2048;

}  // namespace

void FreedRuns::add(std::uint32_t count) {
  ++runs;
  blocks[static_cast<std::size_t>(std::bit_width(count)) - 1] += count;
}

std::uint64_t FreedRuns::blocks_in(std::uint32_t order) const {
  return std::accumulate(blocks.begin() + std::min<std::size_t>(order, blocks.size()), blocks.end(),
                         std::uint64_t{0});
}

Ager::Ager(allocator::Decider& decider, const state::Source& source, AgerOptions options)
    : geometry_(source.geometry),
      decider_(decider),
      options_(std::move(options)),
      ever_used_(source) {
  for (std::uint32_t group = 0; group < geometry_.groups; ++group)
    if (!source.groups[group].corrupt)
      free_ += geometry_.to_blocks(
          state::bitmap::count_clear(source.groups[group].words, geometry_.clusters_in(group)));
  // One fiftieth of the file system, at most 4,096 clusters (ext4_set_resv_clusters).
  const std::uint64_t clusters = geometry_.blocks_count >> geometry_.cluster_bits;
  kept_back_ = geometry_.to_blocks(std::min<std::uint64_t>(clusters / 50, 4096));
}

// Makes room for a slot when it is first used, because there are as many slots as inodes: millions
// on a large disk.
void Ager::reach(std::uint32_t slot) {
  if (slot < files_.size()) return;
  const std::size_t reached = std::min(
      std::max<std::size_t>(2 * files_.size(), slot + std::size_t{1}), options_.inodes.size());
  files_.resize(reached);
  bytes_.resize(reached, 0);
  is_dirty_.resize(reached, false);
  was_emptied_.resize(reached, false);
  is_open_.resize(reached, false);
}

Status Ager::apply(const Operation& operation) {
  ++tally_.operations[static_cast<std::size_t>(operation.kind)];
  if (operation.kind == Operation::Kind::sync) return sync();
  if (operation.slot >= options_.inodes.size()) return error("there is no slot {}", operation.slot);
  reach(operation.slot);
  using Kind = Operation::Kind;
  switch (operation.kind) {
    case Kind::remove:
      return empty(operation.slot);
    case Kind::write_at:
      is_open_[operation.slot] = true;
      return write_at(operation);
    case Kind::direct:
      is_open_[operation.slot] = true;
      return write_directly(operation);
    case Kind::extend:
    case Kind::reserve:
      is_open_[operation.slot] = true;
      return preallocate(operation);
    case Kind::punch:
      return punch(operation);
    case Kind::flush:
      E4R_CHECK(write_back(operation.slot, true));
      return commit();
    case Kind::close:
      return close(operation.slot);
    default:
      return write(operation.slot, operation.bytes);
  }
}

// Writes back all dirty data, and commits.
Status Ager::sync() {
  for (const std::uint32_t slot : dirty_) E4R_CHECK(write_back(slot, is_open_[slot]));
  dirty_.clear();
  return commit();
}

// Allocates the file's blocks that wait for writeback.
Status Ager::write_back(std::uint32_t slot, bool open) {
  if (!is_dirty_[slot]) return {};
  is_dirty_[slot] = false;
  const auto parts = dirty_parts_.find(slot);
  if (parts == dirty_parts_.end()) return fill(slot, bytes_[slot], open);
  Part part = {.slot = slot, .i_size = bytes_[slot], .open = open};
  part.flags = mb::delalloc_reserved | mb::use_reserved;
  const Dirty dirty = std::move(parts->second);
  dirty_parts_.erase(parts);
  reserved_ -= dirty.reserved;
  part.folio = dirty.folio;
  for (const BlockSpan& span : dirty.blocks) {
    E4R_TRY([[maybe_unused]] const bool done,
            map_holes(part, span.lower(), span.upper(), kDelayedBlocks));
  }
  // The kernel discards the inode's preallocations once no block waits for writeback and no program
  // has the file open for writing (ext4_da_update_reserve_space).
  if (!open) decider_.discard_inode(options_.inodes[slot], 0);
  return decider_.status();
}

Status Ager::commit() {
  count_freed();
  decider_.begin_commit();
  decider_.end_commit();
  decider_.send_discards(allocator::Discards::kAll);
  return decider_.status();
}

// Counts as one run the adjacent extents of a group that one transaction freed.
void Ager::count_freed() {
  std::sort(freed_.begin(), freed_.end(),
            [](const BlockRange& a, const BlockRange& b) { return a.first < b.first; });
  for (std::size_t at = 0; at < freed_.size();) {
    const std::uint64_t first = freed_[at].first;
    std::uint64_t end = freed_[at].end();
    const std::uint32_t group = geometry_.group_of(first);
    for (++at; at < freed_.size() && freed_[at].first == end && geometry_.group_of(end) == group;
         ++at)
      end = freed_[at].end();
    tally_.freed.add(static_cast<std::uint32_t>(end - first));
  }
  freed_.clear();
}

Status Ager::write(std::uint32_t slot, std::uint64_t bytes) {
  const std::uint64_t had = bytes_[slot];
  bytes_[slot] += bytes;
  if (options_.writing == Writing::delayed && !was_emptied_[slot] && extsize(slot) == 0) {
    if (!is_dirty_[slot]) dirty_.push_back(slot);
    is_dirty_[slot] = true;
    return {};
  }
  was_emptied_[slot] = false;
  E4R_CHECK(fill(slot, had, true));
  // Preallocations are discarded when the last writer closes the file.
  decider_.discard_inode(options_.inodes[slot], 0);
  return {};
}

// Allocates the blocks that the file needs for its size and does not have yet. `had` is its
// previous size.
Status Ager::fill(std::uint32_t slot, std::uint64_t had, bool open) {
  const std::uint32_t bits = geometry_.block_bits;
  const std::uint64_t blocks = (bytes_[slot] + (1ull << bits) - 1) >> bits;
  if (blocks > UINT32_MAX) return error("slot {}: a file of {} blocks", slot, blocks);
  const std::uint32_t unit = extsize(slot);
  const bool delayed = options_.writing == Writing::delayed && unit == 0;
  while (files_[slot].end() < blocks) {
    const std::uint64_t have = files_[slot].end();
    // The size grows page by page. The blocks of a page are allocated before the size includes
    // them.
    constexpr std::uint64_t kPageBytes = 4096;
    const std::uint64_t page = (have << bits) / kPageBytes * kPageBytes;
    const std::uint64_t i_size = delayed ? bytes_[slot] : std::max(had, page);
    const std::uint64_t most = delayed ? kDelayedBlocks : 1;
    const std::uint64_t want = unit != 0 ? unit : std::min(blocks - have, most);
    E4R_TRY(const bool refused, allocate_blocks(slot, want, i_size, open));
    if (refused) {
      cut_short(slot);
      return {};
    }
  }
  return {};
}

// Returns the file's extsize in blocks, or 0 if the file has none.
std::uint32_t Ager::extsize(std::uint32_t slot) const {
  return allocator::extsize_of(options_.align, options_.tunables, options_.inodes[slot]);
}

// Reduces the file's size to the blocks that could be allocated. The rest was not written (ENOSPC).
void Ager::cut_short(std::uint32_t slot) {
  const std::uint64_t kept = std::min(bytes_[slot], files_[slot].end() << geometry_.block_bits);
  tally_.lost_bytes += bytes_[slot] - kept;
  bytes_[slot] = kept;
}

// Returns whether the allocator refused a request.
Result<bool> Ager::allocate_blocks(std::uint32_t slot, std::uint64_t want, std::uint64_t i_size,
                                   bool open) {
  const bool is_aligned = extsize(slot) != 0;
  Part part = {.slot = slot, .logical = files_[slot].end(), .blocks = want, .i_size = i_size};
  part.open = open;
  if (options_.writing == Writing::delayed && !is_aligned)
    part.flags = mb::delalloc_reserved | mb::use_reserved;
  if (is_aligned) ++tally_.aligned;
  E4R_TRY(const bool given,
          give_blocks(part, is_aligned, fmt::format("blocks asked for: {}", want)));
  if (!given && is_aligned) ++tally_.refused;
  return !given;
}

// Requests blocks for a part of a file. The part must be a hole. Returns false if the allocator
// refused.
Result<bool> Ager::give_blocks(const Part& part, bool may_be_refused, std::string_view what) {
  const ExtentTree& file = files_[part.slot];
  allocator::Request request;
  request.ino = options_.inodes[part.slot];
  request.len = static_cast<std::uint32_t>(geometry_.to_clusters(part.blocks));
  request.logical = static_cast<std::uint32_t>(part.logical);
  request.flags = mb::hint_data | part.flags;
  request.goal = file.goal_of(part.logical).value_or(inode_goal(part.slot));
  const ExtentTree::Neighbours near = file.around(part.logical);
  if (near.left) {
    request.left_block = near.left->run.end() - 1;
    request.left_logical = static_cast<std::uint32_t>(near.left->end() - 1);
  }
  if (near.right) {
    request.right_block = near.right->run.first;
    request.right_logical = static_cast<std::uint32_t>(near.right->logical);
  }
  request.cpu = part.cpu;
  request.size_hint = part.i_size;
  request.inputs_exact = true;
  request.open_for_write = part.open;
  const bool was_reserved = (part.flags & mb::delalloc_reserved) != 0;
  // The kernel halves a request until the free blocks suffice.
  while (options_.goes_on_when_full && !was_reserved && request.len > 0 &&
         !has_room(geometry_.to_blocks(request.len), false))
    request.len /= 2;
  if (request.len == 0) {
    request.len = static_cast<std::uint32_t>(geometry_.to_clusters(part.blocks));
    ++tally_.requests;
    ++tally_.failed;
    if (options_.refused_early) options_.refused_early(request);
    return false;
  }
  E4R_TRY(const allocator::Decision decision, decide(request, what, may_be_refused));
  if (!decision.success || decision.len == 0) return false;
  const BlockRange run = {decision.block, geometry_.to_blocks(decision.len)};
  tally_.blocks += run.count;
  ever_used_.add(run.first, run.count);
  E4R_CHECK(put(part.slot, {part.logical, run}));
  return true;
}

// Whether `blocks` more blocks can be reserved (ext4_has_free_clusters).
bool Ager::has_room(std::uint64_t blocks, bool reserved) const {
  return free_ >= blocks + reserved_ + (reserved ? 0 : kept_back_);
}

Status Ager::put(std::uint32_t slot, const ExtentTree::Mapped& mapped) {
  std::vector<ExtentTree::NodeGoal> nodes;
  if (!files_[slot].insert(mapped, 1u << geometry_.block_bits, nodes))
    return error("slot {}: more extents than an extent tree of depth 2 holds", slot);
  return add_nodes(slot, nodes);
}

Status Ager::add_nodes(std::uint32_t slot, const std::vector<ExtentTree::NodeGoal>& nodes) {
  for (const ExtentTree::NodeGoal& node : nodes) {
    E4R_TRY(const std::uint64_t block, new_node(slot, node));
    files_[slot].add_node(block);
  }
  return {};
}

Result<std::uint64_t> Ager::new_node(std::uint32_t slot, const ExtentTree::NodeGoal& goal) {
  using Kind = ExtentTree::NodeGoal::Kind;
  allocator::Request request;
  request.ino = options_.inodes[slot];
  request.len = 1;
  request.goal = goal.kind == Kind::inode ? inode_goal(slot) : goal.block;
  if (goal.kind == Kind::before && goal.block > geometry_.first_data_block)
    request.flags = mb::hint_try_goal;
  if (options_.writing == Writing::delayed) request.flags |= mb::use_reserved;
  request.inputs_exact = true;
  ++tally_.tree_nodes;
  E4R_TRY(const allocator::Decision decision, decide(request, "for a node of an extent tree"));
  if (!decision.success || decision.len == 0) return std::uint64_t{0};
  ever_used_.add(decision.block, 1);
  return decision.block;
}

Result<allocator::Decision> Ager::decide(const allocator::Request& request, std::string_view what,
                                         bool may_be_refused) {
  if (stop_asked()) return error("stopped");
  ++tally_.requests;
  allocator::Decision decision = decider_.allocate(request, nullptr);
  E4R_CHECK(decider_.status());
  if (!decision.success && !freed_.empty()) {
    // Freed clusters can be allocated once their transaction ends, so the kernel commits and tries
    // again (ext4_should_retry_alloc).
    E4R_CHECK(commit());
    decision = decider_.allocate(request, nullptr);
    E4R_CHECK(decider_.status());
  }
  const bool failed = !decision.success || decision.len == 0;
  if (failed && !may_be_refused) {
    if (!options_.goes_on_when_full)
      return error("no space is left ({}): ask for less utilisation", what);
    ++tally_.failed;
  }
  if (!failed) free_ -= std::min(free_, geometry_.to_blocks(decision.len));
  times_.add(decision);
  tally_.hash.add(decision.block, decision.len);
  return decision;
}

Status Ager::empty(std::uint32_t slot) {
  decider_.discard_inode(options_.inodes[slot], 0);
  files_[slot].empty([this](const BlockRange& run, bool file_data) { free(run, file_data); });
  bytes_[slot] = 0;
  if (const auto parts = dirty_parts_.find(slot); parts != dirty_parts_.end()) {
    reserved_ -= parts->second.reserved;
    dirty_parts_.erase(parts);
  }
  is_dirty_[slot] = false;  // a file that was never written back has no blocks to free
  was_emptied_[slot] = true;
  is_open_[slot] = false;
  return decider_.status();
}

void Ager::free(const BlockRange& run, bool file_data) {
  const bool at_once = geometry_.frees_at_once(file_data);
  // A node of an extent tree occupies a whole cluster.
  BlockRange left = {run.first, geometry_.whole_clusters_from(run.count)};
  free_ += left.count;
  while (left.count > 0) {
    const BlockRange here = geometry_.front_in_group(left);
    // Blocks that were just allocated can always be given back.
    static_cast<void>(
        decider_.free(geometry_.group_of(here.first), geometry_.cluster_in_group(here.first),
                      static_cast<std::uint32_t>(geometry_.to_clusters(here.count)), file_data));
    if (at_once)
      tally_.freed.add(static_cast<std::uint32_t>(here.count));
    else
      freed_.push_back(here);
    left = {here.end(), left.count - here.count};
  }
}

std::uint64_t Ager::inode_goal(std::uint32_t slot) const {
  std::uint32_t group = (options_.inodes[slot] - 1) / geometry_.inodes_per_group;
  const std::uint32_t flex = geometry_.flex_bg ? geometry_.flex_size() : 1;
  if (flex >= kFlexWithDirectories) group = (group & ~(flex - 1)) + 1;
  const std::uint64_t first = geometry_.first_block(group);
  if (options_.writing == Writing::delayed) return first;
  const std::uint64_t last = geometry_.blocks_count - 1;
  const std::uint64_t span =
      first + geometry_.blocks_per_group <= last ? geometry_.blocks_per_group : last - first;
  return first + options_.pid % kColours * (span / kColours);
}

// ---- Operations at any offset of a file.

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
