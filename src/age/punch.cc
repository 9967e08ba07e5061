// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/punch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace e4r::age {
namespace {

// Filestorm's probabilities. In the remaining cases, nothing happens.
constexpr double kNothing = 0.1;      // share of changes in which nothing happens
constexpr double kRemovals = 0.1;     // share of removals among draws that create no file
constexpr double kShortenings = 0.1;  // share of truncations among changes that free space
// Share of removals that would remove a directory; these do nothing.
constexpr double kOfDirectories = 0.01;
// A hole is at least one unit long, and one unit is kept at each end.
constexpr std::uint64_t kLeastUnits = 3;
// Space that new files leave free, like Filestorm's safe margin.
constexpr std::uint64_t kMargin = 1 << 20;
// Once the wanted bytes have been written, the workload ends if files fill kNear of the room or no
// slot is free. At the latest it ends when kLonger times the wanted bytes plus the room have been
// written.
constexpr double kNear = 0.97;
constexpr std::uint64_t kLonger = 4;

}  // namespace

Result<PunchWorkload> PunchWorkload::create(const Profile& profile,
                                            const AgeingWorkloadOptions& options) {
  E4R_CHECK(check_room(options));
  return PunchWorkload(profile, options);
}

PunchWorkload::PunchWorkload(const Profile& profile, const AgeingWorkloadOptions& options)
    : profile_(profile), options_(options), rng_(options.seed), vacant_(options.slots) {
  std::iota(vacant_.rbegin(), vacant_.rend(), 0u);
  room_ = room_of(options);
  wanted_ = wanted_of(options);
}

double PunchWorkload::uniform() {
  return static_cast<double>(rng_.next() >> 11) * 0x1p-53;
}

// Returns the share of the file system, from 0 to 1, that files cannot get because it is in use or
// exceeds the utilisation.
double PunchWorkload::fullness() const {
  const std::uint64_t left = room_ - std::min(room_, taken_);
  return 1 - static_cast<double>(left) / static_cast<double>(options_.clusters);
}

std::uint64_t PunchWorkload::room_left() const {
  const std::uint64_t bytes = (room_ - std::min(room_, taken_)) * options_.cluster_size;
  return bytes > kMargin + profile_.punch ? (bytes - kMargin) / profile_.punch * profile_.punch : 0;
}

PunchWorkload::Hole PunchWorkload::next_hole(const File& file) const {
  const std::uint64_t unit = profile_.punch;
  Hole out = {0, file.size / 2};
  for (std::uint64_t i = 0; i < file.count && out.to > out.from; ++i) {
    const std::uint64_t length = out.to - out.from;
    out.from = out.to;
    out.to += length / 2;
  }
  out.from -= out.from % unit;
  out.to -= out.to % unit;
  if (out.to - out.from < kLeastUnits * unit) return {};
  return {out.from + unit, out.to - unit};
}

std::uint32_t PunchWorkload::any() {
  return alive_[rng_.below(alive_.size())];
}

// Records whether the file has room for another hole. Called after each operation on the file.
void PunchWorkload::look_for_room(std::uint32_t slot) {
  File& file = files_[slot];
  file.is_punchable = file.is_punchable && !next_hole(file).empty();
}

// Punches a hole into these blocks of the file.
void PunchWorkload::give_back(std::uint32_t slot, std::uint64_t from, std::uint64_t to) {
  File& file = files_[slot];
  const BlockSpan span(from, to);
  const std::uint64_t gone = count_missing(file.holes, span);
  file.holes += span;
  file.taken -= gone;
  taken_ -= gone;
}

void PunchWorkload::extend(Operation& operation, std::uint32_t slot, std::uint64_t size) {
  File& file = files_[slot];
  const std::uint64_t block = options_.cluster_size;
  operation = {Operation::Kind::extend, slot, size - file.size, file.size};
  const std::uint64_t more = (size + block - 1) / block - (file.size + block - 1) / block;
  file.size = size;
  file.taken += more;
  taken_ += more;
  written_ += more * block;
  look_for_room(slot);
}

bool PunchWorkload::create_one(Operation& operation) {
  if (vacant_.empty()) return false;
  const auto low = static_cast<std::uint64_t>(profile_.sizes.front().limit);
  const auto high = static_cast<std::uint64_t>(profile_.sizes.back().limit);
  const std::uint64_t size = std::min(rng_.between(low, high), room_left());
  if (size == 0) return false;
  const std::uint32_t slot = vacant_.back();
  vacant_.pop_back();
  alive_.push_back(slot);
  if (slot >= files_.size()) files_.resize(slot + std::size_t{1});
  files_[slot] = {};
  extend(operation, slot, size);
  return true;
}

// A file grows at most by the space that is left.
bool PunchWorkload::grow_one(Operation& operation) {
  const std::uint32_t slot = any();
  const std::uint64_t had = files_[slot].size;
  const auto high = static_cast<std::uint64_t>(profile_.sizes.back().limit);
  if (had >= high) return false;
  const std::uint64_t size = std::min(rng_.between(had, high), room_left());
  if (size <= had) return false;
  extend(operation, slot, size);
  return true;
}

// Truncates a file.
bool PunchWorkload::shorten_one(Operation& operation) {
  const std::uint32_t slot = any();
  File& file = files_[slot];
  const std::uint64_t had = file.size, block = options_.cluster_size;
  const std::uint64_t least = std::max(had / 2, profile_.punch);
  if (least >= had) return false;
  const std::uint64_t size = rng_.between(least, had);
  if (size == had) return false;
  const std::uint64_t from = (size + block - 1) / block, to = (had + block - 1) / block;
  operation = {Operation::Kind::punch, slot, (to - from) * block, from * block};
  give_back(slot, from, to);
  file.size = size;
  file.holes -= BlockSpan(from, UINT64_MAX);
  // Count the holes before the new end.
  std::uint64_t hole = had / 2, end = hole;
  for (file.count = 1; end < size && hole > kLeastUnits * profile_.punch; ++file.count)
    end += hole /= 2;
  look_for_room(slot);
  return from < to;
}

bool PunchWorkload::punch_one(Operation& operation) {
  std::vector<std::uint32_t> punchable;
  std::ranges::copy_if(alive_, std::back_inserter(punchable),
                       [this](std::uint32_t slot) { return files_[slot].is_punchable; });
  if (punchable.empty()) return false;
  const std::uint32_t slot = punchable[rng_.below(punchable.size())];
  const Hole hole = next_hole(files_[slot]);
  ++files_[slot].count;
  operation = {Operation::Kind::punch, slot, hole.to - hole.from, hole.from};
  const std::uint64_t block = options_.cluster_size;
  const std::uint64_t from = (hole.from + block - 1) / block, to = hole.to / block;
  if (from < to) give_back(slot, from, to);
  look_for_room(slot);
  return true;
}

void PunchWorkload::remove_one(Operation& operation) {
  const std::size_t at = rng_.below(alive_.size());
  const std::uint32_t slot = alive_[at];
  alive_[at] = alive_.back();
  alive_.pop_back();
  operation = {Operation::Kind::remove, slot, 0};
  taken_ -= files_[slot].taken;
  files_[slot] = {};
  vacant_.push_back(slot);
}

// Draws one operation. Returns false if this turn does nothing.
bool PunchWorkload::draw(Operation& operation) {
  const double full = fullness();
  const double aware = alive_.empty() ? 1 : std::sqrt(1 - full * full);
  const double ticket = uniform();
  if (ticket < aware || alive_.empty()) return create_one(operation);
  if (ticket < aware + kRemovals * (1 - aware)) {
    if (uniform() < kOfDirectories) return false;
    remove_one(operation);
    return true;
  }
  const double change = uniform();
  if (change < aware - kNothing) return grow_one(operation);
  if (change < aware) return false;
  if (uniform() >= kShortenings && punch_one(operation)) return true;
  return shorten_one(operation);
}

bool PunchWorkload::next(Operation& operation) {
  if (ended_) return false;
  const bool is_near = static_cast<double>(taken_) >= kNear * static_cast<double>(room_);
  const bool end =
      written_ >= wanted_ &&
      (is_near || vacant_.empty() || written_ / kLonger >= wanted_ + room_ * options_.cluster_size);
  if (end || static_cast<double>(since_sync_) >= profile_.sync_every) {
    operation = {};
    since_sync_ = 0;
    ended_ = end;
    return true;
  }
  ++since_sync_;
  // If the file system has no room for any operation, a file is removed.
  constexpr int kTurns = 1000;
  for (int i = 0; i < kTurns; ++i)
    if (draw(operation)) return true;
  if (alive_.empty()) {
    operation = {};
    ended_ = true;
    return true;
  }
  remove_one(operation);
  return true;
}

Result<std::unique_ptr<Drawing>> draw_for(const Profile& profile,
                                          const AgeingWorkloadOptions& options) {
  if (profile.punch != 0) {
    E4R_TRY(PunchWorkload drawn, PunchWorkload::create(profile, options));
    return std::unique_ptr<Drawing>(std::make_unique<PunchWorkload>(std::move(drawn)));
  }
  E4R_TRY(AgeingWorkload drawn, AgeingWorkload::create(profile, options));
  return std::unique_ptr<Drawing>(std::make_unique<AgeingWorkload>(std::move(drawn)));
}

}  // namespace e4r::age
