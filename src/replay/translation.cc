// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/translation.h"

#include <algorithm>
#include <iterator>

#include "util/rng.h"

namespace e4r::replay {

std::size_t FileLayout::first_ending_after(std::uint64_t logical) const {
  if (logical >= end()) return extents_.size();
  const auto it = std::partition_point(extents_.begin(), extents_.end(),
                                       [&](const FileExtent& e) { return e.end() <= logical; });
  return static_cast<std::size_t>(it - extents_.begin());
}

void FileLayout::map(const FileExtent& extent) {
  if (extent.len == 0) return;
  std::size_t at = first_ending_after(extent.logical);
  if (at < extents_.size() && extents_[at].logical < extent.end()) {
    std::vector<BlockRange> replaced;
    unmap(extent.logical, extent.len, replaced);
    at = first_ending_after(extent.logical);
  }
  const bool joins_left = at > 0 && extents_[at - 1].is_continued_by(extent);
  const bool joins_right = at < extents_.size() && extent.is_continued_by(extents_[at]);
  if (joins_left && joins_right) {
    extents_[at - 1].len += extent.len + extents_[at].len;
    extents_.erase(extents_.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (joins_left) {
    extents_[at - 1].len += extent.len;
  } else if (joins_right) {
    FileExtent& right = extents_[at];
    right = {extent.logical, extent.block, extent.len + right.len};
  } else {
    extents_.insert(extents_.begin() + static_cast<std::ptrdiff_t>(at), extent);
  }
}

void FileLayout::unmap(std::uint64_t logical, std::uint64_t len, std::vector<BlockRange>& out) {
  const std::uint64_t end = logical + len;
  std::size_t at = first_ending_after(logical);
  while (at < extents_.size() && extents_[at].logical < end) {
    const FileExtent whole = extents_[at];
    const std::uint64_t from = std::max(whole.logical, logical);
    const std::uint64_t to = std::min(whole.end(), end);
    out.push_back({whole.block + (from - whole.logical), to - from});
    const FileExtent left = {whole.logical, whole.block, from - whole.logical};
    const FileExtent right = {to, whole.block + (to - whole.logical), whole.end() - to};
    const auto here = extents_.begin() + static_cast<std::ptrdiff_t>(at);
    if (left.len > 0 && right.len > 0) {
      *here = left;
      extents_.insert(here + 1, right);
      return;
    }
    if (left.len > 0) {
      *here = left;
      ++at;
    } else if (right.len > 0) {
      *here = right;
      return;
    } else {
      extents_.erase(here);
    }
  }
}

void FileLayout::shift(const FileShift& shift, std::vector<BlockRange>& out) {
  if (shift.inserts && end() > shift.at && end() + shift.count > kMaxFileBlocks) return;
  if (!shift.inserts) unmap(shift.at, shift.count, out);
  std::size_t at = first_ending_after(shift.at);
  if (at == extents_.size()) return;
  if (FileExtent& whole = extents_[at]; whole.logical < shift.at) {
    const std::uint64_t len = shift.at - whole.logical;
    const FileExtent right = {shift.at, whole.block + len, whole.len - len};
    whole.len = len;
    extents_.insert(extents_.begin() + static_cast<std::ptrdiff_t>(++at), right);
  }
  for (std::size_t i = at; i < extents_.size(); ++i)
    extents_[i].logical += shift.inserts ? shift.count : 0 - shift.count;
  if (at == 0 || !extents_[at - 1].is_continued_by(extents_[at])) return;
  extents_[at - 1].len += extents_[at].len;
  extents_.erase(extents_.begin() + static_cast<std::ptrdiff_t>(at));
}

const FileExtent* FileLayout::find_below_end(std::uint64_t logical) const {
  const FileExtent& extent = extents_[first_ending_after(logical)];
  return extent.logical <= logical ? &extent : nullptr;
}

const FileExtent* FileLayout::left_of(std::uint64_t logical) const {
  if (logical == 0) return nullptr;
  const std::size_t at = first_ending_after(logical - 1);
  if (at < extents_.size() && extents_[at].logical < logical) return &extents_[at];
  return at > 0 ? &extents_[at - 1] : nullptr;
}

void FileWriters::add(std::uint64_t ino) {
  const std::uint64_t number = of_.size();
  const std::uint64_t round = number / count_;
  const std::uint64_t shift = round == 0 ? 0 : Rng(round).below(count_);
  of_.try_emplace(ino, static_cast<unsigned>((number + shift) % count_));
}

void join_neighbours(std::vector<BlockRange>& ranges) {
  std::size_t kept = 0;
  for (const BlockRange& range : ranges) {
    if (kept > 0 && ranges[kept - 1].end() == range.first)
      ranges[kept - 1].count += range.count;
    else
      ranges[kept++] = range;
  }
  ranges.resize(kept);
}

void Translation::recorded_data(std::uint64_t ino, std::uint64_t logical, std::uint64_t block,
                                std::uint64_t len) {
  add(key(ino, block), {len, static_cast<std::uint32_t>(ino), shifts_.count(ino), logical});
}

void Translation::recorded_metadata(std::uint64_t ino, std::uint64_t block, std::uint64_t here,
                                    std::uint64_t len) {
  add(key(ino, block), {len, 0, 0, here});
}

std::uint64_t Translation::place_of(const Run& run, std::uint64_t offset) {
  return run.ino == 0 && run.place == 0 ? 0 : run.place + offset;
}

// Adds the blocks to the run that was extended last. Returns false if they do not continue it.
// Files are written from beginning to end, so most blocks continue it.
bool Translation::add_to_recent(std::uint64_t block, const Run& run) {
  if (recent_ == runs_.end() || !continues(*recent_, block, run)) return false;
  const auto after = std::next(recent_);
  if (after != runs_.end() && after->first < block + run.len) return false;
  recent_->second.len += run.len;
  return true;
}

void Translation::add(std::uint64_t block, const Run& run) {
  if (run.len == 0 || add_to_recent(block, run)) return;
  auto after = runs_.lower_bound(block);
  if (overlap(after, block, run.len)) {
    forget_recorded(after, block, run.len);
    after = runs_.lower_bound(block);
  }
  if (after != runs_.begin()) {
    const auto before = std::prev(after);
    if (continues(*before, block, run)) {
      before->second.len += run.len;
      recent_ = before;
      return;
    }
  }
  recent_ = runs_.emplace_hint(after, block, run);
}

void Translation::erase(Runs::iterator& it) {
  if (it == recent_) recent_ = runs_.end();
  it = runs_.erase(it);
}

// Whether any of the blocks is in a run. `after` is the first run that does not begin before them.
bool Translation::overlap(const Runs::const_iterator& after, std::uint64_t block,
                          std::uint64_t len) const {
  if (after != runs_.end() && after->first < block + len) return true;
  if (after == runs_.begin()) return false;
  const auto before = std::prev(after);
  return block < before->first + before->second.len;
}

// Forgets the earlier owners of these blocks, for a trace that allocates blocks twice without a
// free in between. `it` is the first run that does not begin before them.
void Translation::forget_recorded(Runs::iterator it, std::uint64_t block, std::uint64_t len) {
  const auto overlaps = [&](const Runs::const_iterator& run) {
    return run != runs_.end() && run->first < block + len && block < run->first + run->second.len;
  };
  if (it != runs_.begin() && overlaps(std::prev(it))) --it;
  while (overlaps(it)) {
    const std::uint64_t start = it->first;
    const Run old = it->second;
    erase(it);
    if (start < block) runs_.emplace(start, Run{block - start, old.ino, old.shifts, old.place});
    const std::uint64_t passed = block + len - start;
    if (passed < old.len) runs_.emplace(block + len, rest_of(old, passed));
  }
}

// The run that holds the recorded block, or the end iterator if no run does.
Translation::Runs::const_iterator Translation::holder(std::uint64_t key) const {
  const auto has = [&](const Runs::const_iterator& run) {
    return key - run->first < run->second.len;
  };
  if (recent_ != runs_.end() && has(recent_)) return recent_;
  auto it = runs_.upper_bound(key);
  if (it == runs_.begin() || !has(--it)) return runs_.end();
  return it;
}

std::uint64_t Translation::find(std::uint64_t ino, std::uint64_t block) const {
  if (block > kBlock) return block;
  const auto run = holder(key(ino, block));
  if (run == runs_.end()) return block;
  const std::uint64_t place = place_of(run->second, key(ino, block) - run->first);
  if (run->second.ino == 0) return place;
  const FileLayout* file = files_.find(run->second.ino);
  const auto moved = shifts_.move(run->second.ino, run->second.shifts, place);
  if (file == nullptr || !moved) return 0;
  const FileExtent* extent = file->find(*moved);
  return extent == nullptr ? 0 : extent->block + (*moved - extent->logical);
}

void Translation::release(const Run& run, std::uint64_t offset, std::uint64_t len,
                          std::vector<BlockRange>& out) {
  if (run.ino == 0) {
    if (run.place != 0) out.push_back({run.place + offset, len});
    return;
  }
  FileLayout* file = files_.find(run.ino);
  if (file == nullptr) return;
  if (shifts_.count(run.ino) == run.shifts) return file->unmap(run.place + offset, len, out);
  for (const auto& piece : shifts_.move(run.ino, run.shifts, run.place + offset, len))
    file->unmap(piece.logical, piece.len, out);
}

void Translation::free(std::uint64_t ino, const BlockRange& recorded,
                       std::vector<BlockRange>& out) {
  std::uint64_t block = key(ino, recorded.first);
  const std::uint64_t end = block + recorded.count;
  auto it = runs_.upper_bound(block);
  if (it != runs_.begin()) --it;
  while (block < end) {
    while (it != runs_.end() && it->first + it->second.len <= block) ++it;
    if (it == runs_.end() || it->first >= end) {
      out.push_back({block & kBlock, end - block});
      break;
    }
    if (it->first > block) {
      out.push_back({block & kBlock, it->first - block});
      block = it->first;
    }
    const std::uint64_t start = it->first;
    const Run run = it->second;
    const std::uint64_t offset = block - start;
    const std::uint64_t count = std::min(end - block, run.len - offset);
    release(run, offset, count, out);
    erase(it);
    if (offset > 0) runs_.emplace(start, Run{offset, run.ino, run.shifts, run.place});
    if (offset + count < run.len)
      it = runs_.emplace(block + count, rest_of(run, offset + count)).first;
    block += count;
  }
  join_neighbours(out);
}

std::optional<std::uint64_t> Translation::present_place(std::uint64_t ino,
                                                        const Neighbour& neighbour) const {
  if (neighbour.block == 0 || neighbour.block > kBlock) return std::nullopt;
  const std::uint64_t block = key(ino, neighbour.block);
  const auto run = holder(block);
  if (run == runs_.end() || run->second.ino != ino) return std::nullopt;
  return shifts_.move(ino, run->second.shifts, place_of(run->second, block - run->first));
}

void Translation::announce_shift(std::uint64_t ino, const FileShift& shift,
                                 std::vector<BlockRange>& out) {
  // Only the blocks of files with a layout are translated.
  FileLayout* file = files_.find(ino);
  if (file == nullptr) return;
  if (const auto first = shifts_.add(ino, shift)) file->shift(*first, out);
}

void Translation::settle_shifts(std::uint64_t ino, std::uint64_t end, const Neighbour& left,
                                const Neighbour& right, std::vector<BlockRange>& out) {
  const auto shown = [](const Neighbour& one) {
    return one.block == 0 ? std::nullopt : std::optional(one.logical);
  };
  const FileShifts::Shown what = {end, shown(left), shown(right), present_place(ino, left),
                                  present_place(ino, right)};
  settle_shifts(ino, what, out);
}

void Translation::settle_shifts(std::vector<BlockRange>& out) {
  for (const std::uint64_t ino : shifts_.files())
    settle_shifts(ino, {UINT64_MAX, {}, {}, {}, {}}, out);
}

void Translation::settle_shifts(std::uint64_t ino, const FileShifts::Shown& shown,
                                std::vector<BlockRange>& out) {
  FileLayout* file = files_.find(ino);
  if (file == nullptr) return;
  const auto is_mapped = [file](std::uint64_t first, std::uint64_t last) {
    const FileExtent* next = file->right_of(first);
    return next != nullptr && next->logical <= last;
  };
  for (const FileShift& shift : shifts_.settle(ino, shown, is_mapped)) file->shift(shift, out);
  join_neighbours(out);
}

void Translation::forget(std::uint64_t ino, std::vector<BlockRange>& out) {
  if (!shifts_.empty()) shifts_.forget(ino);
  const FileLayout* file = files_.find(ino);
  if (file == nullptr) return;
  for (const FileExtent& extent : file->extents()) out.push_back({extent.block, extent.len});
  files_.erase(ino);
  join_neighbours(out);
}

}  // namespace e4r::replay
