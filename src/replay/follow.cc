// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/follow.h"

#include <algorithm>

#include "replay/dictation.h"

namespace e4r::replay {

namespace {

// The mode that the closing event of a search shows.
allocator::Mode mode_of(const Op& op) {
  const std::uint32_t flags = op.closing.flags;
  if ((flags & mb::hint_group_alloc) != 0) return allocator::Mode::group;
  if ((flags & mb::stream_alloc) != 0) return allocator::Mode::stream;
  return (flags & mb::hint_noprealloc) != 0 ? allocator::Mode::noprealloc
                                            : allocator::Mode::unknown;
}

}  // namespace

void Follow::decide(const Op& op) {
  allocator::Inputs known;
  if (!op.closing.prealloc && is_data(op)) known.mode = mode_of(op);
  const allocator::Request request = request_of(op, known);
  Dictation dictation(op, model_.allocator());
  const allocator::Decision decision = allocate(op, request, &dictation);
  agreement_.conflicts += decision.conflicts;
  contradictions_.note(&Contradictions::in_use, op.ordinal, decision.conflicts);
  const allocator::Decision own = dictation.judged(decision);
  note_decision(op, own, dictation.forced());
  const auto lists = dictation.behind_on();
  if (lists && is_warm()) learn_order(op, own, *lists);
  if (!agreement_.count(op, own, dictation.forced())) note_order(op);
  note_inputs(op.request, decision.inputs);
  if (is_data(op)) facts_.asked(request, decision.inputs, geometry());
  if (!decision.success) return;
  if (is_data(op)) {
    map_recorded(op, translation_.file(op.ino));
    record_data(op);
  } else if (op.block != 0) {
    const std::uint64_t blocks = geometry().to_blocks(decision.len);
    translation_.recorded_metadata(op.ino, op.block, decision.block,
                                   std::min(blocks, geometry().to_blocks(op.len)));
  }
}

// Most requests are decided in their order, so this appends.
void Follow::note_inputs(std::uint64_t request, const allocator::Inputs& inputs) {
  std::vector<allocator::Inputs>& known = inputs_.known;
  if (request == known.size() + 1) return known.push_back(inputs);
  if (known.size() < request) known.resize(request);
  known[request - 1] = inputs;
}

// A decision differs. Another thread's decision may belong before it, or it before that one.
void Follow::note_order(const Op& op) {
  const auto is_late = [this](std::uint64_t request) {
    return std::ranges::binary_search(inputs_.late, request);
  };
  if (op.late) late_in_vain_.insert(op.request);
  if (op.may_be_late && !op.late) maybe_late_.insert(op.request);
  if (op.within != 0) (is_late(op.within) ? late_in_vain_ : maybe_late_).insert(op.within);
}

// Both searches took the first group of a list, so the kernel's group stood in front of the model's
// there.
void Follow::learn_order(const Op& op, const allocator::Decision& own, state::OrderLists lists) {
  if (own.prealloc || op.closing.prealloc || own.result.len == 0 || op.closing.result.len == 0 ||
      own.criterion != op.closing.criterion)
    return;
  learnt_.push_back({lists, op.closing.result.group, own.result.group});
  // The kernel's allocation may have moved that group to another list by now.
  model_.own_state().put_before(lists, op.closing.result.group, own.result.group);
}

// One such group shows it for all groups of the call.
bool Follow::trims_again(std::uint32_t call, bool from_this) {
  std::vector<std::uint32_t>& again = inputs_.trims_again;
  const auto at = std::ranges::lower_bound(again, call);
  const bool known = at != again.end() && *at == call;
  if (!known && from_this) again.insert(at, call);
  return known || from_this;
}

void Follow::free(const Op& op, const BlockRange& range) {
  if (!free_range(range, op.file_data)) {
    contradictions_.note(&Contradictions::not_in_use, op.ordinal);
    inputs_.refused_frees.push_back(op.ordinal);
    return;
  }
  freed_.clear();
  translation_.free(op.ino, range, freed_);
}

}  // namespace e4r::replay
