// SPDX-License-Identifier: GPL-2.0-only
#include "writers.h"

#include <algorithm>
#include <numeric>

namespace dio {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMemory = kMaxCount * kSector + kPage;  // for one write

// Draws the length of a write in sectors. Most writes are shorter than a block or have a few
// blocks. No write is longer than 64 KiB.
std::uint32_t draw_count(lab::Rng& rng, std::uint32_t per_block) {
  const std::uint64_t kind = rng.below(100);
  if (kind < 50) return static_cast<std::uint32_t>(rng.between(1, per_block));
  if (kind < 82) return static_cast<std::uint32_t>(rng.between(1, 4 * per_block));
  return static_cast<std::uint32_t>(rng.between(1, kMaxCount));
}

template <class T>
void shuffle(std::vector<T>& all, lab::Rng& rng) {
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[rng.below(i)]);
}

}  // namespace

Writer::Writer(Stress& stress, Via via, std::uint32_t owner, unsigned depth)
    : stress_(stress),
      via_(via),
      owner_(owner),
      memory_(depth * kMemory),
      engine_(make_engine(via, depth)),
      ios_(depth) {
  char* memory = memory_.data();
  for (Io& io : ios_) {
    io.memory = memory;
    memory += kMemory;
    free_.push_back(&io);
  }
}

void Writer::run(std::uint64_t ops) {
  stress_.each_op(owner_, ops, [this](lab::Rng& rng) {
    one_op(rng);
    if (batch_.size() > 1 || rng.percent(60)) flush();
    if (in_flight_ > 0) reap(rng.percent(10) ? 1 : 0);
  });
  flush();
  while (in_flight_ > 0) reap(1);
}

void Writer::one_op(lab::Rng& rng) {
  target_ = &stress_.draw_target(rng);
  if (rng.percent(stress_.tails())) return tail_burst(rng);
  const std::uint64_t kind = rng.below(100);
  if (kind < 53) return plain(rng);
  if (kind < 77) return burst(rng);
  if (kind < 88) return cover(rng);
  if (kind < 94) return tail_overwrite(rng, Mode::exclusive);
  extend(rng);
}

void Writer::plain(lab::Rng& rng) {
  const Target& target = *target_;
  const std::uint32_t per_block = target.model->sectors_per_block();
  const std::uint32_t size = target.model->size();
  std::uint32_t count = draw_count(rng, per_block);
  auto first = static_cast<std::uint32_t>(rng.below(size));
  const auto apart = static_cast<std::uint32_t>(rng.below(std::uint64_t{8} * per_block));
  if (rng.percent(65)) first = stress_.hot_sector(*target_) / per_block * per_block + apart;
  if (rng.percent(30)) {
    first -= first % per_block;
    count = std::min((count + per_block - 1) / per_block * per_block, kMaxCount);
  }
  if (first >= size) return;
  count = std::min(count, size - first);
  const bool shared = first >= target.overlap_first && first + count <= target.overlap_end;
  add(rng, first, count, shared ? Mode::shared : Mode::exclusive);
}

// Draws one to three blocks, near the sector at which all writers currently write
// (Stress::hot_sector).
Writer::Blocks Writer::draw_blocks(lab::Rng& rng) {
  const std::uint32_t per_block = target_->model->sectors_per_block();
  const auto count = static_cast<std::uint32_t>(rng.between(1, 3));
  const std::uint32_t apart = static_cast<std::uint32_t>(rng.below(8)) * per_block;
  return {stress_.hot_sector(*target_) / per_block * per_block + apart, count};
}

// Writes one to three blocks in several pieces, which are all in flight at once.
void Writer::burst(lab::Rng& rng) {
  Model& model = *target_->model;
  const std::uint32_t per_block = model.sectors_per_block();
  const auto [base, blocks] = draw_blocks(rng);
  std::vector<std::uint32_t> cuts(blocks * per_block - 1);
  std::iota(cuts.begin(), cuts.end(), 1);
  shuffle(cuts, rng);
  cuts.resize(std::min<std::size_t>(cuts.size(), rng.between(1, 5)));
  cuts.push_back(0);
  cuts.push_back(blocks * per_block);
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::size_t> order(cuts.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, rng);
  if (order.size() > 1 && rng.percent(30)) order.pop_back();
  const std::uint32_t size = model.size();
  for (const std::size_t piece : order) {
    const std::uint32_t first = base + cuts[piece];
    if (first < size)
      add(rng, first, std::min(cuts[piece + 1] - cuts[piece], size - first), Mode::exclusive);
  }
}

// Writes whole blocks and, at the same time, parts of them. Sectors outside the parts must keep the
// data of the whole-block writes.
void Writer::cover(lab::Rng& rng) {
  Model& model = *target_->model;
  const std::uint32_t per_block = model.sectors_per_block();
  const auto [base, blocks] = draw_blocks(rng);
  if (base + blocks * per_block > model.size()) return;
  const bool whole_first = rng.percent(80);
  if (whole_first) add(rng, base, blocks * per_block, Mode::shared);
  for (std::uint64_t parts = rng.between(1, 2); parts > 0; --parts) {
    const auto at = static_cast<std::uint32_t>(rng.below(blocks * per_block));
    const auto count = static_cast<std::uint32_t>(rng.between(1, per_block));
    add(rng, base + at, std::min(count, blocks * per_block - at), Mode::shared);
  }
  if (!whole_first) add(rng, base, blocks * per_block, Mode::shared);
}

// Overwrites the end of the file, up to its last byte.
void Writer::tail_overwrite(lab::Rng& rng, Mode mode) {
  Model& model = *target_->model;
  const std::uint32_t size = model.size();
  const auto count =
      static_cast<std::uint32_t>(rng.between(1, std::uint64_t{2} * model.sectors_per_block()));
  if (count <= size) add(rng, size - count, count, mode);
}

void Writer::extend(lab::Rng& rng) {
  const std::uint32_t per_block = target_->model->sectors_per_block();
  // The count is usually small, so that the file can grow many times before it reaches its maximum
  // size.
  const auto small = static_cast<std::uint32_t>(rng.between(1, 2 * per_block));
  const std::uint32_t count = rng.percent(85) ? small : draw_count(rng, per_block);
  const auto gap = static_cast<std::uint32_t>(rng.between(1, 3 * per_block));
  add_extend(rng, count, rng.percent(20) ? gap : 0, 0);
}

// Writes up to the end of the file, while another write extends the file in the same block. First
// submits writes of whole blocks, so that both of these writes have to wait in the disk's queue. A
// disk that sorts its queue handles requests in the order of their first sectors. To make such a
// disk handle the extending write first, even if a block has only two sectors, this write sometimes
// begins a block earlier.
void Writer::tail_burst(lab::Rng& rng) {
  Model& model = *target_->model;
  const std::uint32_t per_block = model.sectors_per_block();
  const std::uint32_t size = model.size();
  const std::uint32_t inside = size % per_block;
  const auto some = static_cast<std::uint32_t>(rng.between(1, std::uint64_t{2} * per_block));
  if (inside == 0) return add_extend(rng, some, 0, 0);
  for (std::uint64_t before = rng.below(5); before > 0; --before) {
    const auto block = static_cast<std::uint32_t>(rng.below(size / per_block + 1));
    if (block < size / per_block) add(rng, block * per_block, per_block, Mode::exclusive);
  }
  const bool aligned = rng.percent(60);
  tail_overwrite(rng, aligned ? Mode::shared : Mode::exclusive);
  const auto more = static_cast<std::uint32_t>(rng.below(2)) * per_block;
  const bool whole = rng.percent(60);
  const auto earlier = static_cast<std::uint32_t>(rng.below(2)) * per_block;
  add_extend(rng, whole ? per_block - inside + more : some, 0, aligned ? inside + earlier : 0);
}

void Writer::add(lab::Rng& rng, std::uint32_t first, std::uint32_t count, Mode mode) {
  Io* io = free_io();
  const auto claimed = target_->model->begin({Kind::write, via_, owner_, first, count, mode});
  if (!stress_.got(claimed)) return;
  io->claimed = *claimed;
  prepare(rng, *io, true);
  count_write(*claimed, mode == Mode::shared);
}

void Writer::add_extend(lab::Rng& rng, std::uint32_t count, std::uint32_t gap, std::uint32_t back) {
  Io* io = free_io();
  count = std::min(count, kMaxCount - back);
  const auto claimed = target_->model->begin_extend(
      {Kind::extend, via_, owner_, 0, count, Mode::exclusive}, gap, back);
  if (!stress_.got(claimed)) return;
  io->claimed = *claimed;
  prepare(rng, *io, false);
  count_write(*claimed, back > 0);
  stress_.add(Count::extends);
}

bool Writer::is_whole(const Claimed& claimed) const {
  const std::uint32_t per_block = target_->model->sectors_per_block();
  return claimed.first % per_block == 0 && claimed.count % per_block == 0;
}

// Sets the contents and flags of a write, and divides its memory into one to three pieces of whole
// sectors. Memory is usually aligned for writes of whole blocks, because the kernel's alignment
// rules apply to the memory as well as to the file offset.
void Writer::prepare(lab::Rng& rng, Io& io, bool may_refuse) {
  const Claimed& claimed = io.claimed;
  const bool odd_memory = rng.percent(is_whole(claimed) ? 10 : 50);
  char* at = io.memory + (odd_memory ? rng.below(kPage / kSector) * kSector : 0);
  for (std::uint32_t i = 0; i < claimed.count; ++i)
    paint(at + i * kSector, target_->model->file(), claimed.first + i, claimed.token);
  std::uint32_t left = claimed.count;
  io.piece_count = 0;
  const std::uint64_t pieces = rng.percent(is_whole(claimed) ? 90 : 70) ? 1 : kMaxPieces;
  while (left > 0) {
    const bool last = io.piece_count + 1 == pieces;
    const auto n = last ? left : static_cast<std::uint32_t>(rng.between(1, left));
    io.pieces[io.piece_count++] = {at, n * kSector};
    at += n * kSector;
    left -= n;
  }
  io.target = target_;
  io.fd = target_->direct;
  io.offset = claimed.first * kSector;
  io.rw_flags = 0;
  if (rng.percent(4)) io.rw_flags = RWF_DSYNC;
  if (may_refuse && rng.percent(6)) io.rw_flags = RWF_NOWAIT;
  io.offload = rng.percent(25) && io.rw_flags != RWF_NOWAIT;
  free_.pop_back();
  batch_.push_back(&io);
}

void Writer::count_write(const Claimed& claimed, bool shared) {
  stress_.add(via_ == Via::aio     ? Count::writes_aio
              : via_ == Via::uring ? Count::writes_uring
                                   : Count::writes_sync);
  if (!is_whole(claimed)) stress_.add(Count::sub_block);
  if (shared) stress_.add(Count::shared);
  stress_.add(Count::bytes, claimed.count * kSector);
}

// Returns the next free Io, and leaves it in the list. After a successful claim, add() removes it.
Io* Writer::free_io() {
  while (free_.empty()) {
    flush();
    reap(1);
  }
  return free_.back();
}

void Writer::flush() {
  if (batch_.empty()) return;
  in_flight_ += batch_.size();
  engine_->submit(batch_);
  batch_.clear();
}

void Writer::reap(unsigned least) {
  done_.clear();
  engine_->reap(done_, least);
  in_flight_ -= done_.size();
  for (Io* io : done_) finish(*io);
}

void Writer::finish(Io& io) {
  const Claimed claimed = io.claimed;
  const long result = io.result, whole = claimed.count * long{kSector};
  Model& model = *io.target->model;
  const bool refused = (io.rw_flags & RWF_NOWAIT) != 0 && result != whole &&
                       (result == -EAGAIN || result == -EOPNOTSUPP || result >= 0);
  model.end(claimed, result);
  free_.push_back(&io);
  const std::string name = std::string("write by ") + name_of(via_);
  if (refused)
    stress_.add(Count::nowait_refused);
  else if (!model.accepts(claimed, result))
    stress_.unexpected(*io.target, result == whole ? name + " to bad sectors" : name, result);
  else if (result != whole)
    stress_.add(Count::write_errors);
}

}  // namespace dio
