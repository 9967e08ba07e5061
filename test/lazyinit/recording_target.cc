// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/recording_target.h"

#include <algorithm>
#include <iterator>

namespace e4r::test {
namespace {

constexpr std::size_t kSector = 512;

// Copies those sectors of `from` to `to` at `offset` for which `keep` returns true.
template <class Keep>
void apply(std::vector<std::byte>& to, std::uint64_t offset, const std::vector<std::byte>& from,
           Keep keep) {
  for (std::size_t at = 0; at < from.size();) {
    const std::size_t step = std::min(kSector - (offset + at) % kSector, from.size() - at);
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
    if (keep()) std::copy_n(begin, step, to.begin() + static_cast<std::ptrdiff_t>(offset + at));
    at += step;
  }
}

}  // namespace

std::size_t RecordingTarget::syncs() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(log_, [](const Operation& o) { return o.sync; }));
}

std::vector<std::byte> RecordingTarget::after_crash(std::size_t operations, Rng& rng) const {
  std::size_t durable = 0;
  for (std::size_t i = 0; i < operations; ++i)
    if (log_[i].sync) durable = i + 1;
  std::vector<std::byte> disk = start_;
  const std::uint64_t percent = std::vector<std::uint64_t>{0, 100, 50, 10, 90}[rng.below(5)];
  const bool whole = rng.chance(1, 2);  // keep or lose whole operations, not single sectors
  for (std::size_t i = 0; i < operations; ++i) {
    const bool kept = rng.chance(percent, 100);
    apply(disk, log_[i].offset, log_[i].bytes,
          [&] { return i < durable || (whole ? kept : rng.chance(percent, 100)); });
  }
  return disk;
}

Status RecordingTarget::log(Operation operation) {
  const std::lock_guard lock(mutex_);
  if (log_.size() >= fail_from_) return error("{}: made to fail", path());
  apply(now_, operation.offset, operation.bytes, [] { return true; });
  log_.push_back(std::move(operation));
  return {};
}

bool RecordingTarget::is_damaged(std::uint64_t offset, std::uint64_t length) const {
  return offset < damaged_.second && damaged_.first < offset + length;
}

Status RecordingTarget::read(std::uint64_t offset, std::span<std::byte> bytes) {
  if (is_damaged(offset, bytes.size())) return error("cannot read {} at byte {}", path(), offset);
  const std::lock_guard lock(mutex_);
  return MemoryTarget::read(offset, bytes);
}

Status RecordingTarget::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  E4R_CHECK(check("write", offset, bytes.size()));
  return log({false, offset, {bytes.begin(), bytes.end()}});
}

Result<lazyinit::Zeroed> RecordingTarget::zero(std::uint64_t offset, std::uint64_t length,
                                               lazyinit::ZeroBy /*by*/) {
  E4R_CHECK(check("zero", offset, length));
  E4R_CHECK(log({false, offset, std::vector<std::byte>(length)}));
  return lazyinit::Zeroed{lazyinit::ZeroMethod::write, length, 0};
}

Result<lazyinit::Probed> RecordingTarget::probe(std::uint64_t offset, std::uint64_t length) {
  if (is_damaged(offset, length))
    return lazyinit::Probed{lazyinit::Content::unreadable, std::max(offset, damaged_.first), 0};
  const std::lock_guard lock(mutex_);
  return MemoryTarget::probe(offset, length);
}

Status RecordingTarget::sync() {
  return honest_ ? log({true, 0, {}}) : Status();
}

}  // namespace e4r::test
