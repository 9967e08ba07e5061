// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/scratch_target.h"

#include <algorithm>
#include <vector>

#include "util/zeros.h"

namespace e4r::lazyinit {

bool ScratchTarget::touched(std::uint64_t offset, std::uint64_t length) const {
  const std::uint64_t end = offset + length;
  const auto page = pages_.lower_bound(offset / kPage * kPage);
  if (page != pages_.end() && page->first < end) return true;
  auto zeros = zeros_.upper_bound(offset);
  if (zeros != zeros_.begin() && std::prev(zeros)->second > offset) return true;
  return zeros != zeros_.end() && zeros->first < end;
}

// Zeroes the parts of `bytes` that lie in zeroed ranges.
void ScratchTarget::blank(std::uint64_t offset, std::span<std::byte> bytes) const {
  const std::uint64_t end = offset + bytes.size();
  auto range = zeros_.upper_bound(offset);
  if (range != zeros_.begin()) --range;
  for (; range != zeros_.end() && range->first < end; ++range) {
    const std::uint64_t from = std::max(range->first, offset);
    const std::uint64_t to = std::min(range->second, end);
    if (from < to) std::fill_n(bytes.begin() + (from - offset), to - from, std::byte{0});
  }
}

Status ScratchTarget::read_locked(std::uint64_t offset, std::span<std::byte> bytes) {
  E4R_CHECK(below().read(offset, bytes));
  blank(offset, bytes);
  const std::uint64_t end = offset + bytes.size();
  for (auto page = pages_.lower_bound(offset / kPage * kPage);
       page != pages_.end() && page->first < end; ++page) {
    const std::uint64_t from = std::max(page->first, offset);
    const std::uint64_t to = std::min(page->first + kPage, end);
    std::copy_n(page->second->begin() + (from - page->first), to - from,
                bytes.begin() + (from - offset));
  }
  return {};
}

Status ScratchTarget::write_locked(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t start = offset / kPage * kPage;
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), start + kPage - offset);
    auto page = pages_.find(start);
    if (page == pages_.end()) {
      auto fresh = std::make_unique<Page>();
      const std::size_t there = std::min(kPage, size() - start);
      E4R_CHECK(read_locked(start, std::span(*fresh).first(there)));
      page = pages_.emplace(start, std::move(fresh)).first;
    }
    std::copy_n(bytes.begin(), count, page->second->begin() + (offset - start));
    bytes = bytes.subspan(count);
    offset += count;
  }
  return {};
}

Status ScratchTarget::read(std::uint64_t offset, std::span<std::byte> bytes) {
  E4R_CHECK(check_range(offset, bytes.size()));
  const std::lock_guard lock(mutex_);
  return read_locked(offset, bytes);
}

Status ScratchTarget::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  E4R_CHECK(check_range(offset, bytes.size()));
  const std::lock_guard lock(mutex_);
  return write_locked(offset, bytes);
}

void ScratchTarget::add_zeros(std::uint64_t offset, std::uint64_t end) {
  auto next = zeros_.upper_bound(offset);
  if (next != zeros_.begin() && std::prev(next)->second >= offset) --next;
  while (next != zeros_.end() && next->first <= end) {
    offset = std::min(offset, next->first);
    end = std::max(end, next->second);
    next = zeros_.erase(next);
  }
  zeros_[offset] = end;
}

Result<Zeroed> ScratchTarget::zero(std::uint64_t offset, std::uint64_t length, ZeroBy /*by*/) {
  E4R_CHECK(check_range(offset, length));
  const std::lock_guard lock(mutex_);
  for (auto page = pages_.lower_bound(offset / kPage * kPage);
       page != pages_.end() && page->first < offset + length; ++page) {
    const std::uint64_t from = std::max(page->first, offset);
    const std::uint64_t to = std::min(page->first + kPage, offset + length);
    std::fill_n(page->second->begin() + (from - page->first), to - from, std::byte{0});
  }
  if (length != 0) add_zeros(offset, offset + length);
  return Zeroed{ZeroMethod::write, length};
}

Result<Probed> ScratchTarget::probe(std::uint64_t offset, std::uint64_t length) {
  E4R_CHECK(check_range(offset, length));
  {
    const std::lock_guard lock(mutex_);
    if (touched(offset, length)) {
      std::vector<std::byte> bytes(length);
      E4R_CHECK(read_locked(offset, bytes));
      const std::size_t found = first_nonzero(bytes);
      if (found == bytes.size()) return Probed{Content::zeros, 0, length};
      return Probed{Content::data, offset + found, length};
    }
  }
  return below().probe(offset, length);
}

}  // namespace e4r::lazyinit
