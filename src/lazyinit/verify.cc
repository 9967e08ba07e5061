// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/verify.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "util/bytes.h"
#include "util/parallel.h"
#include "util/rng.h"

namespace e4r::lazyinit {
namespace {

std::uint64_t bytes_to_do(const Table& table) {
  return table.zeroed ? 0 : table.unused_part.length;
}

bool alike(const Table& a, const Table& b) {
  return a.unused == b.unused && a.inode_uninit == b.inode_uninit &&
         a.block_uninit == b.block_uninit && a.zeroed == b.zeroed &&
         a.unused_part.length == b.unused_part.length;
}

char symbol(std::span<const Table> tables) {
  const auto all = [tables](auto has) { return std::all_of(tables.begin(), tables.end(), has); };
  if (all([](const Table& t) { return t.zeroed; })) return '#';
  if (!all([](const Table& t) { return !t.zeroed; })) return '+';
  return all([](const Table& t) { return t.inode_uninit; }) ? '.' : 'o';
}

}  // namespace

Inventory take_inventory(std::span<const Table> tables) {
  Inventory sum;
  sum.groups = tables.size();
  for (const Table& table : tables) {
    sum.inode_uninit += table.inode_uninit;
    sum.block_uninit += table.block_uninit;
    sum.zeroed += table.zeroed;
    sum.unused_groups += table.unused != 0;
    sum.unused_inodes += table.unused;
    sum.table_bytes += table.whole.length;
    sum.bytes_to_do += bytes_to_do(table);
    sum.to_do += bytes_to_do(table) != 0;
    sum.to_flag += !table.zeroed && table.unused_part.length == 0;
  }
  return sum;
}

std::vector<GroupRun> runs_of_groups(std::span<const Table> tables) {
  std::vector<GroupRun> runs;
  for (const Table& table : tables) {
    if (!runs.empty() && alike(runs.back().like, table))
      runs.back().last = table.group;
    else
      runs.push_back({table.group, table.group, table, bytes_to_do(table)});
  }
  return runs;
}

std::string map_of_groups(std::span<const Table> tables, std::size_t width) {
  std::string map;
  const std::size_t cells = std::min(width, tables.size());
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t first = tables.size() * i / cells;
    map += symbol(tables.subspan(first, tables.size() * (i + 1) / cells - first));
  }
  return map;
}

std::chrono::duration<double> estimate(const Inventory& inventory, std::uint32_t multiplier,
                                       const ZeroCost& cost) {
  const std::chrono::duration<double> bytes(static_cast<double>(inventory.bytes_to_do) /
                                            static_cast<double>(cost.bytes_per_second));
  const auto groups = static_cast<double>(inventory.to_do);
  const auto work = bytes + groups * cost.per_group;
  return work * (double{1} + multiplier) + (multiplier == 0 ? 0 : groups) * kTick;
}

namespace {

// Addresses the parts as one range without gaps.
class Row {
 public:
  explicit Row(std::span<const ZeroRange> parts) : parts_(parts) {
    ends_.reserve(parts.size());
    for (const ZeroRange& part : parts) ends_.push_back(total() + part.range.length);
  }

  [[nodiscard]] std::uint64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  // Returns the rest of the part that contains the byte at `position`, from that byte on.
  [[nodiscard]] ZeroRange at(std::uint64_t position) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), position);
    ZeroRange part = parts_[static_cast<std::size_t>(end - ends_.begin())];
    const std::uint64_t left = *end - position;
    part.range = {part.range.offset + part.range.length - left, left};
    return part;
  }

 private:
  std::span<const ZeroRange> parts_;
  std::vector<std::uint64_t> ends_;
};

// Finds the first byte of the part that is not zero.
Result<std::optional<NotZero>> look(Target& target, const ZeroRange& part) {
  E4R_TRY(const Probed probed, target.probe(part.range.offset, part.range.length));
  std::optional<NotZero> bad;
  if (probed.content != Content::zeros)
    bad = NotZero{part.group, probed.first, probed.content == Content::unreadable};
  return bad;
}

// Parts are checked in order. Every part before the first one that is not zero is checked, so the
// result does not depend on the number of threads.
class CheckAll {
 public:
  CheckAll(Target& target, std::span<const ZeroRange> parts) : target_(target), parts_(parts) {}

  Status run(unsigned threads, std::uint32_t block_size, Checked& checked) {
    parallel_for(threads, parts_.size(), [this](std::size_t i) { one(i); });
    if (failure_) return *failure_;
    checked.blocks = bytes_ / block_size;
    checked.bad = bad_;
    return {};
  }

 private:
  void one(std::size_t index) {
    if (done_) return;
    const auto found = look(target_, parts_[index]);
    const std::lock_guard lock(mutex_);
    bytes_ += parts_[index].range.length;
    if (!found.ok()) {
      if (!failure_) failure_ = found.error();
    } else if (*found && (!bad_ || index < bad_at_)) {
      bad_ = *found;
      bad_at_ = index;
    }
    done_ = failure_ || bad_;
  }

  Target& target_;
  std::span<const ZeroRange> parts_;
  std::atomic<bool> done_ = false;
  std::mutex mutex_;
  std::uint64_t bytes_ = 0;
  std::size_t bad_at_ = 0;
  std::optional<NotZero> bad_;
  std::optional<Error> failure_;
};

}  // namespace

std::vector<ZeroRange> parts_of(const Tables& tables, std::span<const ByteRange> journal) {
  std::vector<ZeroRange> parts;
  for (const Table& table : tables.tables())
    if (table.unused_part.length != 0) parts.push_back({table.group, table.unused_part});
  for (const ByteRange& range : journal) parts.push_back({std::nullopt, range});
  return parts;
}

Result<Checked> check_all_zero(Target& target, std::span<const ZeroRange> parts,
                               std::uint32_t block_size, unsigned threads) {
  Checked checked;
  checked.blocks_total = Row(parts).total() / block_size;
  E4R_CHECK(CheckAll(target, parts).run(threads, block_size, checked));
  return checked;
}

Result<Checked> check_sample_zero(Target& target, std::span<const ZeroRange> parts,
                                  std::uint32_t block_size, std::uint64_t seed) {
  const Row row(parts);
  Checked checked;
  checked.blocks_total = row.total() / block_size;
  if (checked.blocks_total <= kSampleBlocks) return check_all_zero(target, parts, block_size, 1);
  Rng rng(seed);
  for (std::uint64_t i = 0; i < kSampleBlocks && !checked.bad; ++i) {
    const std::uint64_t low = checked.blocks_total * i / kSampleBlocks;
    const std::uint64_t high = checked.blocks_total * (i + 1) / kSampleBlocks;
    ZeroRange block = row.at(rng.between(low, high - 1) * block_size);
    block.range.length = block_size;
    ++checked.blocks;
    E4R_TRY(checked.bad, look(target, block));
  }
  return checked;
}

namespace {

constexpr std::uint64_t kPiece = 1u << 20;  // bytes of inodes that are read in one call

class Check {
 public:
  Check(Target& target, const Tables& tables, std::vector<Table> flagged,
        const std::atomic<bool>* stop, const std::function<void(const VerifyProgress&)>& progress)
      : target_(target),
        tables_(tables),
        flagged_(std::move(flagged)),
        stop_(stop),
        progress_(progress) {
    for (const Table& table : flagged_) state_.bytes_total += table.unused_part.length;
  }

  Result<Verified> all(unsigned threads) {
    parallel_for(threads, flagged_.size(), [this](std::size_t i) { one(flagged_[i]); });
    if (failure_) return *failure_;
    std::sort(verified_.lies.begin(), verified_.lies.end(),
              [](const Lie& a, const Lie& b) { return a.group < b.group; });
    std::sort(verified_.with_deleted.begin(), verified_.with_deleted.end());
    verified_.stopped = verified_.checked < flagged_.size();
    return verified_;
  }

 private:
  void one(const Table& table) {
    if (stop_ != nullptr && *stop_) return;
    const ByteRange range = table.unused_part;
    auto probed = range.length == 0 ? Result<Probed>(Probed{Content::zeros, 0, 0})
                                    : target_.probe(range.offset, range.length);
    std::uint64_t deleted = 0;
    if (probed.ok() && probed->content == Content::data)
      *probed = look_at_inodes(table, *probed, deleted);
    const std::lock_guard lock(mutex_);
    if (!probed.ok()) {
      if (!failure_) failure_ = probed.error();
      return;
    }
    ++verified_.checked;
    verified_.bytes += range.length;
    verified_.read += probed->read;
    if (probed->content != Content::zeros)
      verified_.lies.push_back({table.group, probed->content, probed->first});
    else if (deleted != 0)
      verified_.with_deleted.push_back(table.group);
    verified_.deleted_inodes += deleted;
    state_.bytes_done += range.length;
    if (progress_) progress_(state_);
  }

  // Continues from the first byte that is not zero, one inode at a time. Returns Content::zeros if
  // it finds only zeros and deleted inodes.
  Probed look_at_inodes(const Table& table, Probed probed, std::uint64_t& deleted) {
    const std::uint64_t size = tables_.inode_size();
    const std::uint64_t inodes = tables_.inodes_per_group();
    const std::uint64_t in_piece = kPiece / size;
    std::vector<std::byte> piece;
    for (std::uint64_t i = (probed.first - table.whole.offset) / size; i < inodes; i += in_piece) {
      const std::uint64_t at = table.whole.offset + i * size;
      piece.resize(std::min(in_piece, inodes - i) * size);
      if (!target_.read(at, piece).ok()) return {Content::unreadable, at, probed.read};
      probed.read += piece.size();
      const auto number = static_cast<std::uint32_t>(table.group * inodes + i + 1);
      if (const auto foreign = first_foreign(number, piece, deleted))
        return {Content::data, at + *foreign, probed.read};
    }
    return {Content::zeros, 0, probed.read};
  }

  // Returns the first byte that is not zero and does not belong to a deleted inode.
  std::optional<std::uint64_t> first_foreign(std::uint32_t number,
                                             std::span<const std::byte> inodes,
                                             std::uint64_t& deleted) {
    const std::uint64_t size = tables_.inode_size();
    for (std::uint64_t at = 0; at < inodes.size(); at += size, ++number) {
      const auto inode = inodes.subspan(at, size);
      const std::size_t nonzero = first_nonzero(inode);
      if (nonzero == inode.size()) continue;
      if (!tables_.is_deleted_inode(number, inode)) return at + nonzero;
      ++deleted;
    }
    return std::nullopt;
  }

  Target& target_;
  const Tables& tables_;
  const std::vector<Table> flagged_;
  const std::atomic<bool>* stop_;
  const std::function<void(const VerifyProgress&)>& progress_;
  std::mutex mutex_;  // guards the members below
  Verified verified_;
  VerifyProgress state_;
  std::optional<Error> failure_;
};

}  // namespace

Result<Verified> verify_tables(Target& target, const Tables& tables, std::span<const Table> groups,
                               unsigned threads, const std::atomic<bool>* stop,
                               const std::function<void(const VerifyProgress&)>& progress) {
  std::vector<Table> flagged;
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(flagged),
               [](const Table& table) { return table.zeroed; });
  return Check(target, tables, std::move(flagged), stop, progress).all(thread_count(threads));
}

std::vector<std::uint32_t> groups_of(std::span<const Lie> lies) {
  std::vector<std::uint32_t> groups;
  for (const Lie& lie : lies) groups.push_back(lie.group);
  return groups;
}

Status retract(Target& target, Tables& tables, std::span<const std::uint32_t> groups) {
  for (const std::uint32_t group : groups) tables.set_zeroed(group, false);
  tables.write_copies_too(true);
  Status written = tables.flush();
  tables.write_copies_too(false);
  if (!written.ok()) return written;
  return target.sync();
}

}  // namespace e4r::lazyinit
