// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/verify.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "util/parallel.h"
#include "util/zeros.h"

namespace e4r::lazyinit {
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

  // Continues from the first byte that is not zero, an inode at a time. Returns zeros if there are
  // only deleted inodes.
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

  // The first byte of an inode that is neither zero nor deleted.
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
  E4R_CHECK(tables.flush());
  return target.sync();
}

}  // namespace e4r::lazyinit
