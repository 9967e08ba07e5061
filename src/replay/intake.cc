// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/intake.h"

#include <array>

#include "util/units.h"

namespace e4r::replay {
namespace {

constexpr std::array kTable = {
    ContradictionInfo{"outside", &Contradictions::outside,
                      "ranges that the image or their group does not have"},
    ContradictionInfo{"inodes", &Contradictions::inodes, "operations on inode 0"},
    ContradictionInfo{"answers", &Contradictions::answers,
                      "answers that are not part of their result"},
    ContradictionInfo{"in_use", &Contradictions::in_use, "clusters handed out that were in use"},
    ContradictionInfo{"not_in_use", &Contradictions::not_in_use, "frees of what is not in use"},
    ContradictionInfo{"transactions", &Contradictions::transactions, "commits out of turn"},
    ContradictionInfo{"strays", &Contradictions::strays,
                      "closing events or answers without a request"},
};

}  // namespace

void Contradictions::note(std::uint64_t Contradictions::*what, std::uint64_t event,
                          std::uint64_t count) {
  if (count == 0) return;
  this->*what += count;
  if (first_event == 0 || event < first_event) first_event = event;
}

void Contradictions::add(const Contradictions& others) {
  for (const ContradictionInfo& info : kTable)
    note(info.member, others.first_event, others.*(info.member));
}

std::span<const ContradictionInfo> contradiction_table() {
  return kTable;
}

std::string describe(const Contradictions& contradictions) {
  std::string out;
  for (const ContradictionInfo& info : kTable) {
    const std::uint64_t count = contradictions.*(info.member);
    if (count == 0) continue;
    if (!out.empty()) out += ", ";
    out += fmt::format("{}: {}", info.meaning, format_count(count));
  }
  return fmt::format("{} (the first at event {})", out, format_count(contradictions.first_event));
}

bool Intake::refuse(std::uint64_t Contradictions::*what, const Op& op) {
  found_.note(what, op.ordinal);
  return false;
}

bool Intake::admit(Op& op) {
  const auto inside = [&](bool so) { return so || refuse(&Contradictions::outside, op); };
  const auto has_inode = [&] { return op.ino != 0 || refuse(&Contradictions::inodes, op); };
  switch (op.kind) {
    case Op::Kind::allocate:
      return !op.closing.seen || (has_inode() && allocation(op));
    case Op::Kind::free:
    case Op::Kind::discard_blocks:
      return inside(geometry_.holds(op.group, static_cast<std::int32_t>(op.start), op.count));
    case Op::Kind::trim_group:
      return inside(op.count > 0 &&
                    geometry_.holds(op.group, static_cast<std::int32_t>(op.start), op.count));
    case Op::Kind::load_group:
    case Op::Kind::reload_group:
      return inside(op.group < geometry_.groups);
    case Op::Kind::prefetched:
      return inside(op.group < geometry_.groups && op.count <= geometry_.groups);
    case Op::Kind::discard_inode:
    case Op::Kind::allocate_inode:
    case Op::Kind::free_inode:
      return has_inode();
    case Op::Kind::commit_flushing:
      return flushing(op);
    case Op::Kind::end_commit:
      return end_commit(op);
    case Op::Kind::lost:
    case Op::Kind::nothing:
      break;
  }
  return true;
}

bool Intake::allocation(Op& op) {
  const trace::RecordedExtent& result = op.closing.result;
  const std::uint32_t asked = op.closing.orig.len;
  // The kernel found no space, so there is no result.
  const bool failed = !op.closing.prealloc && result.len == 0;
  const bool fits = !op.malformed && asked > 0 && asked <= geometry_.clusters_per_group &&
                    op.logical + geometry_.to_blocks(asked) <= kMaxFileBlocks &&
                    (op.pleft == 0 || geometry_.holds_block(op.pleft)) &&
                    (op.pright == 0 || geometry_.holds_block(op.pright)) &&
                    (failed || geometry_.holds(result.group, result.start, result.len));
  if (!fits) return refuse(&Contradictions::outside, op);
  if (op.block != 0) answer(op);
  return true;
}

// Checks the answer: whole clusters of the result, at most as many as requested.
void Intake::answer(Op& op) {
  const trace::RecordedExtent& result = op.closing.result;
  const std::uint64_t first =
      geometry_.block_of(result.group, static_cast<std::uint32_t>(result.start));
  const std::uint64_t offset = op.block - first;
  const std::uint64_t cluster = offset >> geometry_.cluster_bits;
  const bool fits = result.len > 0 && op.block >= first && geometry_.to_blocks(cluster) == offset &&
                    op.len > 0 && op.len <= op.closing.orig.len && cluster < result.len &&
                    op.len <= result.len - cluster;
  if (fits) return;
  found_.note(&Contradictions::answers, op.ordinal);
  op.block = 0;
  op.len = 0;
}

// jbd2 commits one transaction after the other.
bool Intake::flushing(const Op& op) {
  if (committing_ || (seen_ && op.block == transaction_))
    found_.note(&Contradictions::transactions, op.ordinal);
  committing_ = seen_ = true;
  transaction_ = op.block;
  return true;
}

bool Intake::end_commit(const Op& op) {
  // The trace may begin inside a commit.
  const bool in_turn = committing_ ? op.block == transaction_ : !seen_;
  seen_ = true;
  committing_ = false;
  transaction_ = op.block;
  return in_turn || refuse(&Contradictions::transactions, op);
}

}  // namespace e4r::replay
