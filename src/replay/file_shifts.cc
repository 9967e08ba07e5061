// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/file_shifts.h"

#include <algorithm>
#include <utility>

namespace e4r::replay {
namespace {

// Moves the pieces, and splits a piece in which the shift begins or ends.
void move_pieces(const FileShift& shift, std::vector<FileShifts::Piece>& pieces) {
  const std::uint64_t removed_end = shift.inserts ? shift.at : shift.at + shift.count;
  // Most shifts split nothing.
  if (FileShifts::Piece& first = pieces.front(); pieces.size() == 1) {
    if (first.logical + first.len <= shift.at) return;
    if (first.logical >= removed_end) {
      first.logical += shift.inserts ? shift.count : 0 - shift.count;
      return;
    }
  }
  std::vector<FileShifts::Piece> moved;
  const auto add = [&](const FileShifts::Piece& piece, std::uint64_t from, std::uint64_t to) {
    from = std::max(from, piece.logical);
    to = std::min(to, piece.logical + piece.len);
    if (from >= to) return;
    const std::optional<std::uint64_t> place = shift.move(from);
    if (place) moved.push_back({piece.offset + (from - piece.logical), *place, to - from});
  };
  for (const FileShifts::Piece& piece : pieces) {
    add(piece, 0, shift.at);
    add(piece, removed_end, UINT64_MAX);
  }
  pieces = std::move(moved);
}

// Shifts that wait, and a set of them: bit i stands for shift i.
using Shifts = std::span<const FileShift>;
using ShiftSet = unsigned;

bool has(ShiftSet set, std::size_t i) {
  return (set >> i & 1) != 0;
}

// Whether the block, numbered `was` so far, has the number `now` after the chosen shifts.
bool explains(Shifts shifts, ShiftSet set, std::optional<std::uint64_t> was,
              std::optional<std::uint64_t> now) {
  if (!was || !now) return true;
  for (std::size_t i = 0; i < shifts.size() && was; ++i)
    if (has(set, i)) was = shifts[i].move(*was);
  return was == now;
}

bool explains(Shifts shifts, ShiftSet set, const FileShifts::Shown& shown) {
  return explains(shifts, set, shown.was_left, shown.left) &&
         explains(shifts, set, shown.was_right, shown.right);
}

// The number that a file block had before the shift. The first block of an inserted range stands
// for the whole range.
std::uint64_t before(const FileShift& shift, std::uint64_t logical) {
  if (logical < shift.at) return logical;
  if (!shift.inserts) return logical + shift.count;
  return logical < shift.at + shift.count ? shift.at : logical - shift.count;
}

// Whether the blocks of all chosen ranges have been freed. The kernel does that before it moves the
// data after the range.
bool ranges_are_empty(Shifts shifts, ShiftSet set, const FileShifts::IsMapped& is_mapped) {
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    if (!has(set, i) || shifts[i].inserts) continue;
    std::uint64_t first = shifts[i].at, last = first + shifts[i].count - 1;
    for (std::size_t earlier = i; earlier-- > 0;) {
      if (!has(set, earlier)) continue;
      first = before(shifts[earlier], first);
      last = before(shifts[earlier], last);
    }
    if (is_mapped(first, last)) return false;
  }
  return true;
}

// The first set, with later shifts preferred, for which `fits` is true; nullopt if none fits.
template <class Fits>
std::optional<ShiftSet> find_set(std::size_t count, const Fits& fits) {
  for (ShiftSet set = 1u << count; set-- > 0;)
    if (fits(set)) return set;
  return std::nullopt;
}

}  // namespace

std::optional<FileShift> FileShifts::add(std::uint64_t ino, const FileShift& shift) {
  File& file = files_[ino];
  file.waiting.push_back(shift);
  if (file.waiting.size() <= kMostWaiting) return std::nullopt;
  const FileShift first = file.waiting.front();
  file.waiting.erase(file.waiting.begin());
  file.applied.push_back(first);
  return first;
}

bool FileShifts::has_waiting(std::uint64_t ino) const {
  if (files_.empty()) return false;
  const auto file = files_.find(ino);
  return file != files_.end() && !file->second.waiting.empty();
}

std::vector<std::uint64_t> FileShifts::files() const {
  std::vector<std::uint64_t> out;
  for (const auto& [ino, file] : files_) out.push_back(ino);
  return out;
}

std::uint32_t FileShifts::count(std::uint64_t ino) const {
  if (files_.empty()) return 0;
  const auto file = files_.find(ino);
  return file == files_.end() ? 0 : static_cast<std::uint32_t>(file->second.applied.size());
}

std::optional<std::uint64_t> FileShifts::move(std::uint64_t ino, std::uint32_t since,
                                              std::uint64_t logical) const {
  std::optional<std::uint64_t> place = logical;
  const auto file = files_.find(ino);
  if (file == files_.end()) return place;
  const std::vector<FileShift>& applied = file->second.applied;
  for (std::size_t i = since; i < applied.size() && place; ++i) place = applied[i].move(*place);
  return place;
}

std::vector<FileShifts::Piece> FileShifts::move(std::uint64_t ino, std::uint32_t since,
                                                std::uint64_t logical, std::uint64_t len) const {
  std::vector<Piece> pieces = {{0, logical, len}};
  const auto file = files_.find(ino);
  if (file == files_.end()) return pieces;
  const std::vector<FileShift>& applied = file->second.applied;
  for (std::size_t i = since; i < applied.size() && !pieces.empty(); ++i)
    move_pieces(applied[i], pieces);
  return pieces;
}

std::vector<FileShift> FileShifts::settle(std::uint64_t ino, const Shown& shown,
                                          const IsMapped& is_mapped) {
  const auto file = files_.find(ino);
  if (file == files_.end()) return {};
  const std::vector<FileShift>& waiting = file->second.waiting;
  const auto first = std::ranges::min_element(waiting, {}, &FileShift::at);
  const auto lies_after = [&](std::optional<std::uint64_t> logical) {
    return logical && *logical >= first->at;
  };
  if (waiting.empty() || (shown.end <= first->at && !lies_after(shown.right) &&
                          !lies_after(shown.was_left) && !lies_after(shown.was_right)))
    return {};
  std::optional<ShiftSet> set = find_set(waiting.size(), [&](ShiftSet one) {
    return explains(waiting, one, shown) && ranges_are_empty(waiting, one, is_mapped);
  });
  // A replay may have blocks in a removed range that the recorded kernel did not have.
  if (!set)
    set = find_set(waiting.size(), [&](ShiftSet one) { return explains(waiting, one, shown); });
  std::vector<FileShift> found = std::exchange(file->second.waiting, {});
  std::size_t number = 0;
  // If no set explains the neighbours, they say nothing about the shifts.
  if (set) std::erase_if(found, [&](const FileShift&) { return !has(*set, number++); });
  file->second.applied.insert(file->second.applied.end(), found.begin(), found.end());
  return found;
}

}  // namespace e4r::replay
