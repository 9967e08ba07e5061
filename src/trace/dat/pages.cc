// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/dat/pages.h"

#include <algorithm>

namespace e4r::trace::dat {
namespace {

// The largest unpacked chunk that is accepted. trace-cmd's chunks hold ten pages.
constexpr std::uint32_t kMaxChunk = 1U << 26;

// The layout of the word before a record, and its special values.
constexpr unsigned kKindBits = 5, kTimeBits = 27;
constexpr unsigned kPadding = 29, kTimeExtend = 30, kTimeStamp = 31;
constexpr std::size_t kWord = 4;

// Parts of a page's commit word: the number of committed bytes; a flag that is set if events were
// lost before this page; a flag that is set if the number of lost events follows the committed
// bytes.
constexpr std::uint64_t kCommitted = (1U << 27) - 1;
constexpr std::uint64_t kLost = 1U << 31, kLostCount = 1U << 30;

}  // namespace

CpuRecords::CpuRecords(std::string_view file, bool big_endian, const PageShape& shape,
                       const Buffer& buffer, const CpuPart& part)
    : file_(file),
      big_endian_(big_endian),
      shape_(shape),
      cpu_(part.cpu),
      page_size_(buffer.page_size),
      packing_(buffer.packing),
      at_(part.offset),
      end_(part.offset + part.size) {}

Error CpuRecords::damage_error(std::string_view what) {
  records_ = {};
  return error("at byte {}, of CPU {}: {}", place_, cpu_, what);
}

std::uint64_t CpuRecords::number(std::string_view bytes, std::uint64_t at, std::size_t size) const {
  Cursor c(bytes, big_endian_);
  c.seek(at);
  return c.number(size);
}

Result<bool> CpuRecords::next_chunk() {
  place_ = at_;
  if (packing_ == Packing::none) {
    pages_ = file_.substr(at_, end_ - at_);
    at_ = end_;
    return !pages_.empty();
  }
  Cursor c(file_.substr(0, end_), big_endian_);
  c.seek(at_);
  if (!counted_ && end_ > at_) chunks_ = c.u32();
  counted_ = true;
  if (chunks_ == 0) return false;
  const std::uint32_t packed = c.u32(), size = c.u32();
  const std::string_view data = c.take(packed);
  if (!c.good()) {
    chunks_ = 0;
    return damage_error("the data end within a chunk");
  }
  --chunks_;
  at_ = c.offset();
  if (size > kMaxChunk || !unpack(packing_, data, size, chunk_)) {
    chunk_.clear();
    return damage_error("a chunk cannot be unpacked");
  }
  pages_ = {chunk_.data(), chunk_.size()};
  return true;
}

Status CpuRecords::start_page(std::string_view page) {
  stamp_ = number(page, shape_.time, 8);
  const std::uint64_t commit = number(page, shape_.commit, shape_.commit_size);
  const std::uint64_t size = commit & kCommitted;
  if (size > page.size() - shape_.data) return damage_error("a page claims more than it can hold");
  if ((commit & kLost) != 0) {
    const std::uint64_t behind = shape_.data + size;
    lost_ = 0;
    if ((commit & kLostCount) != 0 && behind + shape_.commit_size <= page.size())
      lost_ = number(page, behind, shape_.commit_size);
  }
  records_ = page.substr(shape_.data, size);
  return {};
}

Result<bool> CpuRecords::next_page() {
  while (pages_.empty()) {
    E4R_TRY(const bool more, next_chunk());
    if (!more) return false;
  }
  if (packing_ == Packing::none) place_ = end_ - pages_.size();
  const std::string_view page = pages_.substr(0, page_size_);
  pages_.remove_prefix(page.size());
  if (page.size() < page_size_) return damage_error("the data end within a page");
  E4R_CHECK(start_page(page));
  return true;
}

// Reads one record, or one entry that only advances the time or fills space.
Result<CpuRecords::Step> CpuRecords::step(BufferRecord& out) {
  if (records_.empty()) return Step::page_end;
  if (records_.size() < kWord) return damage_error("a page ends within a record");
  const auto word = static_cast<std::uint32_t>(number(records_, 0, kWord));
  const unsigned kind = big_endian_ ? word >> kTimeBits : word & ((1U << kKindBits) - 1);
  const std::uint64_t time = big_endian_ ? word & ((1U << kTimeBits) - 1) : word >> kKindBits;
  // All records have a second word except those whose length is in the first word.
  const bool short_one = kind > 0 && kind < kPadding;
  if (kind == kPadding && time == 0) return Step::page_end;
  if (!short_one && records_.size() < 2 * kWord) return damage_error("a page ends within a record");
  const std::uint64_t second = short_one ? 0 : number(records_, kWord, kWord);
  std::uint64_t length = kWord + std::uint64_t{kind} * kWord;
  switch (kind) {
    case kTimeExtend:
      stamp_ += (second << kTimeBits) + time;
      length = 2 * kWord;
      break;
    case kTimeStamp: {
      // The record holds the lower 59 bits of the time stamp; the upper bits stay unchanged.
      constexpr std::uint64_t kHigh = ~std::uint64_t{0} << 59;
      stamp_ = (stamp_ & kHigh) | ((second << kTimeBits | time) & ~kHigh);
      length = 2 * kWord;
      break;
    }
    case kPadding:
    case 0:
      stamp_ += time;
      length = kWord + ((second + 3) & ~std::uint64_t{3});
      break;
    default:
      stamp_ += time;
  }
  if (length > records_.size() || (!short_one && length < 2 * kWord))
    return damage_error("a record is longer than its page");
  const std::size_t head = short_one ? kWord : 2 * kWord;
  const std::string_view data = records_.substr(head, length - head);
  records_.remove_prefix(length);
  if (kind >= kPadding) return Step::more;
  out.stamp = stamp_;
  out.data = {reinterpret_cast<const std::byte*>(data.data()), data.size()};
  out.lost = std::exchange(lost_, std::nullopt);
  return Step::record;
}

Result<std::optional<BufferRecord>> CpuRecords::next() {
  BufferRecord out;
  for (;;) {
    E4R_TRY(const Step step, this->step(out));
    if (step == Step::record) return std::optional(out);
    if (step == Step::more) continue;
    records_ = {};
    E4R_TRY(const bool more, next_page());
    if (!more) return std::optional<BufferRecord>();
  }
}

}  // namespace e4r::trace::dat
