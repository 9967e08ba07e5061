// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/zero_check.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "util/parallel.h"
#include "util/rng.h"

namespace e4r::lazyinit {
namespace {

// Joins parts to one range without gaps.
class Row {
 public:
  explicit Row(std::span<const Part> parts) : parts_(parts) {
    ends_.reserve(parts.size());
    for (const Part& part : parts) ends_.push_back(total() + part.range.length);
  }

  [[nodiscard]] std::uint64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  // The part with the byte at `position`, cut to begin there.
  [[nodiscard]] Part at(std::uint64_t position) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), position);
    Part part = parts_[static_cast<std::size_t>(end - ends_.begin())];
    const std::uint64_t left = *end - position;
    part.range = {part.range.offset + part.range.length - left, left};
    return part;
  }

 private:
  std::span<const Part> parts_;
  std::vector<std::uint64_t> ends_;
};

// Finds the first byte of the part that is not zero.
Result<std::optional<NotZero>> look(Target& target, const Part& part) {
  E4R_TRY(const Probed probed, target.probe(part.range.offset, part.range.length));
  std::optional<NotZero> bad;
  if (probed.content != Content::zeros)
    bad = NotZero{part.group, probed.first, probed.content == Content::unreadable};
  return bad;
}

// Hands out parts in order, and skips no part before a finding. So the answer does not depend on
// the number of threads.
class CheckAll {
 public:
  CheckAll(Target& target, std::span<const Part> parts) : target_(target), parts_(parts) {}

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
  std::span<const Part> parts_;
  std::atomic<bool> done_ = false;
  std::mutex mutex_;
  std::uint64_t bytes_ = 0;
  std::size_t bad_at_ = 0;
  std::optional<NotZero> bad_;
  std::optional<Error> failure_;
};

}  // namespace

std::vector<Part> parts_of(const Tables& tables, std::span<const ByteRange> journal) {
  std::vector<Part> parts;
  for (const Table& table : tables.tables())
    if (table.unused_part.length != 0) parts.push_back({table.group, table.unused_part});
  for (const ByteRange& range : journal) parts.push_back({std::nullopt, range});
  return parts;
}

Result<Checked> check_all_zero(Target& target, std::span<const Part> parts,
                               std::uint32_t block_size, unsigned threads) {
  Checked checked;
  checked.blocks_total = Row(parts).total() / block_size;
  E4R_CHECK(CheckAll(target, parts).run(threads, block_size, checked));
  return checked;
}

Result<Checked> check_sample_zero(Target& target, std::span<const Part> parts,
                                  std::uint32_t block_size, std::uint64_t seed) {
  const Row row(parts);
  Checked checked;
  checked.blocks_total = row.total() / block_size;
  if (checked.blocks_total <= kSampleBlocks) return check_all_zero(target, parts, block_size, 1);
  Rng rng(seed);
  for (std::uint64_t i = 0; i < kSampleBlocks && !checked.bad; ++i) {
    const std::uint64_t low = checked.blocks_total * i / kSampleBlocks;
    const std::uint64_t high = checked.blocks_total * (i + 1) / kSampleBlocks;
    Part block = row.at(rng.between(low, high - 1) * block_size);
    block.range.length = block_size;
    ++checked.blocks;
    E4R_TRY(checked.bad, look(target, block));
  }
  return checked;
}

}  // namespace e4r::lazyinit
