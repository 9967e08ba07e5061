// SPDX-License-Identifier: GPL-2.0-only
#include "maintenance.h"

#include <linux/falloc.h>

#include <algorithm>

namespace dio {
namespace {

constexpr std::uint32_t kMostRange = 64;  // sectors
constexpr unsigned kTries = 30;           // attempts to truncate

}  // namespace

Changer::Changer(Stress& stress, std::uint32_t owner)
    : stress_(stress), owner_(owner), buffer_(kMostRange * kSector) {}

void Changer::run(std::uint64_t ops) {
  stress_.each_op(owner_, ops, [this](lab::Rng& rng) { one_op(rng); });
}

void Changer::one_op(lab::Rng& rng) {
  target_ = &stress_.draw_target(rng);
  const std::uint64_t kind = rng.below(100);
  Model& model = *target_->model;
  // Truncate if little room for extending writes is left.
  if (model.most() - model.size() < 2 * kMostRange) return truncate(rng);
  if (kind < 26) return discard(rng, Kind::punch);
  if (kind < 40) return discard(rng, Kind::zero);
  if (kind < 56) return allocate(rng);
  if (kind < 64) return allocate_behind(rng);
  if (kind < 68) return grow(rng, true);
  if (kind < 72) return grow(rng, false);
  if (kind < 80) return truncate(rng);
  write_buffered(rng);
}

// Draws a range, usually near the current writes. One range in three consists of whole blocks.
Range Changer::draw_range(lab::Rng& rng, std::uint32_t most) {
  Model& model = *target_->model;
  const std::uint32_t per_block = model.sectors_per_block(), size = model.size();
  std::uint32_t count = static_cast<std::uint32_t>(rng.between(1, most));
  auto first = static_cast<std::uint32_t>(rng.below(size));
  const auto apart = static_cast<std::uint32_t>(rng.below(std::uint64_t{6} * per_block));
  if (rng.percent(60)) first = stress_.hot_sector(*target_) / per_block * per_block + apart;
  if (rng.percent(33)) {
    first -= first % per_block;
    count = std::max(count - count % per_block, std::min(per_block, most));
  }
  if (first >= size) return {0, 0};
  return {first, std::min(count, size - first)};
}

bool Changer::fallocate_range(int mode, std::uint32_t first, std::uint32_t count,
                              const Claimed* claimed) {
  long result = fallocate(target_->buffered, mode, static_cast<off_t>(first * kSector),
                          static_cast<off_t>(count * kSector));
  if (result < 0) result = -errno;
  if (claimed != nullptr) target_->model->end(*claimed, result);
  if (result != 0 && result != -EOPNOTSUPP) stress_.unexpected(*target_, "fallocate", result);
  return result == 0;
}

void Changer::set_size(const Claimed& claimed, std::uint32_t sectors) {
  const auto end = static_cast<off_t>(sectors * kSector);
  const long result = ftruncate(target_->buffered, end) < 0 ? -errno : 0;
  target_->model->end(claimed, result);
  if (result != 0) stress_.unexpected(*target_, "ftruncate", result);
}

// If a range overlaps pages that are mapped, extends it to whole pages. Otherwise, the kernel could
// lose a store through a mapping: after a block of a page, but not the whole page, has been punched
// or zeroed, the page stays writable, so a store does not allocate the block again (Linux 6.1
// ext4_punch_hole and ext4_zero_range; later kernels: ext4_truncate_page_cache_block_range).
Range Changer::apart_from_mappings(Range range) const {
  const Model& model = *target_->model;
  if (model.sectors_per_block() >= kPageSectors || !range.meets(model.for_mappings())) return range;
  const std::uint32_t end = range.first + range.count;
  const std::uint32_t first = range.first - range.first % kPageSectors;
  return {first, (end - first + kPageSectors - 1) / kPageSectors * kPageSectors};
}

// Punches a hole or zeroes a range, at any sector.
void Changer::discard(lab::Rng& rng, Kind kind) {
  const Range range = apart_from_mappings(draw_range(rng, rng.percent(50) ? kMostRange : 12));
  if (kind == Kind::zero && !can_zero_) return;
  const auto claimed =
      target_->model->begin({kind, Via::control, owner_, range.first, range.count});
  if (!stress_.got(claimed)) return;
  const int mode = kind == Kind::punch ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
                                       : FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
  if (fallocate_range(mode, range.first, range.count, &*claimed))
    stress_.add(kind == Kind::punch ? Count::punches : Count::zero_ranges);
  else if (kind == Kind::zero)
    can_zero_ = false;
}

// Calls fallocate(). This does not change contents, so the operation claims no sectors, and writes
// to the same sectors continue.
void Changer::allocate(lab::Rng& rng) {
  const Range range = draw_range(rng, kMostRange);
  if (!can_fallocate_ || range.count == 0) return;
  can_fallocate_ = fallocate_range(FALLOC_FL_KEEP_SIZE, range.first, range.count, nullptr);
  if (can_fallocate_) stress_.add(Count::fallocates);
}

void Changer::allocate_behind(lab::Rng& rng) {
  Model& model = *target_->model;
  const std::uint32_t size = model.size();
  if (!can_fallocate_ || size >= model.most()) return;
  const auto count = static_cast<std::uint32_t>(rng.between(1, 2 * kMostRange));
  can_fallocate_ = fallocate_range(FALLOC_FL_KEEP_SIZE, size, count, nullptr);
  if (can_fallocate_) stress_.add(Count::fallocates);
}

// Extends the file with zeros, by fallocate() or ftruncate().
void Changer::grow(lab::Rng& rng, bool allocate) {
  Model& model = *target_->model;
  const auto count = static_cast<std::uint32_t>(rng.between(1, kMostRange));
  if (allocate && !can_fallocate_) return;
  // During a concurrent extension, ftruncate() could set a size below the extension's end and
  // shrink the file.
  const auto claimed = allocate
                           ? model.begin_extend({Kind::grow, Via::control, owner_, 0, count}, 0, 0)
                           : model.begin_grow_alone(owner_, count);
  if (!stress_.got(claimed)) return;
  if (allocate) {
    can_fallocate_ = fallocate_range(0, claimed->first, claimed->count, &*claimed);
    if (!can_fallocate_) return;
  } else {
    set_size(*claimed, claimed->first + claimed->count);
  }
  stress_.add(Count::grows);
}

void Changer::truncate(lab::Rng& rng) {
  Model& model = *target_->model;
  const std::uint32_t size = model.size();
  auto less = static_cast<std::uint32_t>(rng.between(1, kMostRange));
  if (rng.percent(30)) less = static_cast<std::uint32_t>(rng.below(size));
  if (less >= size || less == 0 || size - less < model.most() / kKeptPart) return;
  // Operations are nearly always in flight somewhere in this range, so try several times.
  std::optional<Claimed> claimed;
  for (unsigned i = 0; i < kTries && !(claimed = model.begin_truncate(owner_, size - less)); ++i)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  if (!stress_.got(claimed)) return;
  set_size(*claimed, claimed->first);
  stress_.add(Count::truncates);
}

void Changer::write_buffered(lab::Rng& rng) {
  const Target& target = *target_;
  const bool appends = rng.percent(20);
  const auto more = static_cast<std::uint32_t>(rng.between(1, 20));
  const Range range = draw_range(rng, rng.percent(60) ? 8 : kMostRange);
  const auto claimed =
      appends
          ? target.model->begin_extend({Kind::extend, Via::buffered, owner_, 0, more}, 0, 0)
          : target.model->begin({Kind::buffered, Via::buffered, owner_, range.first, range.count});
  if (!stress_.got(claimed)) return;
  for (std::uint32_t i = 0; i < claimed->count; ++i)
    paint(buffer_.data() + i * kSector, target.model->file(), claimed->first + i, claimed->token);
  long result = pwrite(target.buffered, buffer_.data(), claimed->count * kSector,
                       static_cast<off_t>(claimed->first * kSector));
  if (result < 0) result = -errno;
  target.model->end(*claimed, result);
  stress_.add(Count::buffered_writes);
  if (result != claimed->count * long{kSector})
    stress_.unexpected(*target_, "buffered write", result);
  if (rng.percent(30) && fsync(target.buffered) < 0) stress_.unexpected(*target_, "fsync", -errno);
}

Reader::Reader(Stress& stress, std::uint32_t owner)
    : stress_(stress), owner_(owner), buffer_(kMostRange * kSector) {}

void Reader::run(std::uint64_t ops) {
  stress_.each_op(owner_, ops, [this](lab::Rng& rng) { one_op(rng); });
}

// Returns whether a read may fail: it includes a bad sector, or shares a page of the page cache
// with a bad sector.
bool Reader::fails_rightly(std::uint32_t first, std::uint32_t count, long result) {
  if (result == count * long{kSector} || (result < 0 && errno != EIO)) return false;
  const std::uint32_t from = first - first % kPageSectors;
  if (!target_->model->has_bad(from, first + count - from + kPageSectors)) return false;
  stress_.add(Count::read_errors);
  return true;
}

void Reader::one_op(lab::Rng& rng) {
  target_ = &stress_.draw_target(rng);
  const Target& target = *target_;
  const auto count = static_cast<std::uint32_t>(rng.between(1, kMostRange));
  const auto apart = static_cast<std::uint32_t>(rng.below(32));
  const bool direct = rng.percent(75);
  const std::uint32_t hot = stress_.hot_sector(*target_);
  const std::uint32_t first = hot > apart ? hot - apart : 0;
  const ReadWindow window = target.model->begin_read(
      first, std::min(count, target.model->most() - first), direct ? Via::sync : Via::buffered);
  long result = pread(direct ? target.direct : target.buffered, buffer_.data(),
                      window.legal.size() * kSector, static_cast<off_t>(first * kSector));
  if (fails_rightly(first, static_cast<std::uint32_t>(window.legal.size()), result)) return;
  if (result < 0) stress_.unexpected(*target_, direct ? "direct read" : "buffered read", -errno);
  const auto violation = target.model->end_read(window, buffer_.data(), result);
  if (violation)
    stress_.report(*target_, direct ? "read directly" : "read from the page cache", *violation);
  stress_.add(Count::reads);
  stress_.add(Count::sectors_exposed, target.model->take_exposed());
  stress_.add(Count::sectors_read, static_cast<std::uint64_t>(std::max(result, 0L)) / kSector);
}

}  // namespace dio
