// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/modes.h"

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

void InputTable::note(std::uint64_t request, const allocator::DecisionInputs& inputs) {
  if (request <= forgotten) return;
  const std::uint64_t number = request - forgotten;
  if (number == known.size() + 1) return known.push_back(inputs);
  if (known.size() < number) known.resize(number);
  known[number - 1] = inputs;
}

allocator::DecisionInputs Follow::shown_inputs(const Op& op, bool on_closing_cpu) const {
  allocator::DecisionInputs known;
  known.on_closing_cpu = on_closing_cpu;
  if (op.closing.prealloc) return known;
  if (is_data(op)) known.mode = mode_of(op);
  known.loses_best = (op.closing.flags & ~op.flags & mb::hint_first) != 0;
  return known;
}

std::optional<bool> Follow::would_agree_on(const Op& op, bool on_closing_cpu, bool thorough) {
  Dictation dictation(op, model_.allocator(), spans_);
  return model_.allocator().would_decide_as_dictated(
      request_of(op, shown_inputs(op, on_closing_cpu)), dictation, thorough);
}

std::optional<bool> Follow::would_agree(const Op& op, bool thorough) {
  const std::optional<bool> agrees = would_agree_on(op, false, thorough);
  if (op.closing.cpu == op.cpu || agrees.value_or(true)) return agrees;
  return would_agree_on(op, true, thorough);
}

void Follow::decide(const Op& op) {
  // A thread that moved to another CPU used the preallocations of one of the two CPUs.
  const bool moved = op.closing.cpu != op.cpu && !would_agree_on(op, false).value_or(true) &&
                     would_agree_on(op, true).value_or(false);
  const allocator::Request request = request_of(op, shown_inputs(op, moved));
  spans_.add(op);
  Dictation dictation(op, model_.allocator(), spans_);
  const allocator::Decision decision = allocate(op, request, &dictation);
  agreement_.conflicts += decision.conflicts;
  contradictions_.note(&Contradictions::in_use, op.ordinal, decision.conflicts);
  const allocator::Decision own = dictation.models_decision(decision);
  note({describe_request(op, request), decision, own, dictation.forced()});
  const auto lists = dictation.lagging_lists();
  if (lists && is_warm()) learn_order(op, own, *lists);
  (void)agreement_.count(op, own, dictation.forced());
  inputs_.note(op.request, decision.inputs);
  if (op.race == Race::allocator)
    inputs_.overlapping.push_back({op.request, op.ordinal, closed_at(op)});
  if (is_data(op)) facts_.asked(request, decision.inputs, geometry());
  if (!decision.success || !keeps_layouts_) return;
  if (is_data(op)) {
    map_recorded(op, translation_.file(op.ino));
    record_data(op);
  } else if (op.block != 0) {
    const std::uint64_t blocks = geometry().to_blocks(decision.len);
    translation_.recorded_metadata(op.ino, op.block, decision.block,
                                   std::min(blocks, geometry().to_blocks(op.len)));
  }
}

void Follow::forget_inputs() {
  std::deque<allocator::DecisionInputs>& known = inputs_.known;
  if (known.size() >= 2 * kInputsKept) {
    const std::size_t count = known.size() - kInputsKept;
    known.erase(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(count));
    inputs_.forgotten += count;
  }
  inputs_.overlapping.clear();
  inputs_.refused_frees.clear();
  inputs_.trims_again.clear();
  learnt_.clear();
}

// Records that the kernel's group came before the model's on the list, since each of them took the
// first group of that list.
void Follow::learn_order(const Op& op, const allocator::Decision& own, state::OrderLists lists) {
  if (own.prealloc || op.closing.prealloc || own.result.len == 0 || op.closing.result.len == 0 ||
      own.criterion != op.closing.criterion)
    return;
  learnt_.push_back({lists, op.closing.result.group, own.result.group});
  // The kernel's allocation may have moved its group to another list by now.
  model_.own_state().put_before(lists, op.closing.result.group, own.result.group);
}

// Remembers the calls that discard runs of groups that are marked as trimmed. A call that discards
// such runs in one group discards them in all groups.
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
  if (!keeps_layouts_) return;
  freed_.clear();
  translation_.free(op.ino, range, freed_);
}

void WhatIf::decide(const Op& op) {
  allocator::DecisionInputs known;
  if (const allocator::DecisionInputs* found = inputs_.find(op.request)) known = *found;
  // Assumes that a file whose last request used the inode's own preallocations uses them again.
  if (known.mode == allocator::Mode::unknown && !op.has_inputs &&
      facts_.of(op.ino).mode == allocator::Mode::stream)
    known.mode = allocator::Mode::stream;
  allocator::Request request = request_of(op, known);
  translate_neighbours(op, request);
  if (is_data(op)) {
    place_data(op, request);
    record_data(op);
  } else {
    place_metadata(op, request);
  }
}

void WhatIf::note(const Op& op, const allocator::Request& request,
                  const allocator::Decision& decision, bool& first) {
  Engine::note({describe_request(op, request), decision, decision, false, !first});
  if (first) decided(op, decision);
  first = false;
}

// Allocates as many metadata blocks as the recorded request got. The trace will free only that
// many, so any further blocks are given back at once.
void WhatIf::place_metadata(const Op& op, allocator::Request& request) {
  const Geometry& geometry = this->geometry();
  const std::uint64_t recorded = op.block == 0 ? 0 : geometry.to_blocks(op.len);
  std::uint64_t placed = 0;
  bool first = true;
  do {
    const allocator::Decision decision = allocate(op, request);
    note(op, request, decision, first);
    if (!decision.success) break;
    const std::uint64_t blocks = geometry.to_blocks(decision.len);
    const std::uint64_t kept = std::min(blocks, recorded - placed);
    translation_.recorded_metadata(op.ino, op.block + placed, decision.block, kept);
    give_back({decision.block + kept, blocks - kept});
    placed += kept;
    request.goal = decision.block + blocks;
    request.len = static_cast<std::uint32_t>(geometry.to_clusters(recorded - placed));
  } while (placed < recorded);
  translation_.recorded_metadata(op.ino, op.block + placed, 0, recorded - placed);
}

// Turns `request` into a request for the file blocks [at, end). Its goal continues the extent of
// the file on their left.
void WhatIf::continue_file(const FileLayout& file, std::uint64_t at, std::uint64_t end,
                           allocator::Request& request) const {
  request.logical = static_cast<std::uint32_t>(at);
  request.len = static_cast<std::uint32_t>(geometry().to_clusters(end - at));
  const FileExtent* left = file.left_of(at);
  if (left == nullptr) return;
  request.left_logical = static_cast<std::uint32_t>(left->end() - 1);
  request.left_block = left->block_end() - 1;
  request.goal = request.left_block + (at - request.left_logical);
}

// Allocates blocks for the file range that the recorded request got, with as many requests as that
// takes.
void WhatIf::place_data(const Op& op, allocator::Request& request) {
  const Geometry& geometry = this->geometry();
  const std::uint64_t asked_end = request.logical + geometry.to_blocks(request.len);
  const std::uint64_t recorded_end =
      request.logical + std::max<std::uint64_t>(geometry.to_blocks(op.len), 1);
  bool first = true;
  std::uint64_t at = request.logical;
  while (at < recorded_end) {
    FileLayout& file = translation_.file(op.ino);
    if (const FileExtent* done = file.find(at)) {
      at = done->end();
      continue;
    }
    if (at != request.logical || !first)
      continue_file(file, at, std::max(asked_end, recorded_end), request);
    // The replay may already have blocks to the right that the recorded kernel did not have yet.
    if (const FileExtent* right = file.right_of(at))
      request.len = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(request.len, geometry.to_clusters(right->logical - at)));
    const allocator::Decision decision = allocate(op, request);
    note(op, request, decision, first);
    facts_.asked(request, decision.inputs, geometry);
    if (!decision.success) return;
    at = map_data(op, file, decision);
  }
  if (!first) return;
  ++tally_.absorbed;
  not_needed(op);
}

// Translates the goal and the neighbours of a recorded request to the places of these blocks in the
// replay.
void WhatIf::translate_neighbours(const Op& op, allocator::Request& request) const {
  const auto moved = [&](std::uint64_t block) {
    const std::uint64_t here = translation_.find(op.ino, block);
    return here == 0 ? block : here;
  };
  if (op.left_block != 0) request.left_block = moved(op.left_block);
  if (op.right_block != 0) request.right_block = moved(op.right_block);
  const std::uint64_t from_left = op.left_block + (op.logical - op.left_logical);
  const std::uint64_t from_right = op.right_block - (op.right_logical - op.logical);
  if (op.left_block != 0 && op.goal == from_left)
    request.goal = request.left_block + (op.logical - op.left_logical);
  else if (op.right_block != 0 && op.goal == from_right)
    request.goal = request.right_block - (op.right_logical - op.logical);
  else if (const std::uint64_t here = translation_.find(op.ino, op.goal);
           here != 0 && here != op.goal)
    request.goal = here;
  else if (op.goal > 0 && !is_data(op))
    request.goal = moved(op.goal - 1) + 1;
}

void WhatIf::free(const Op& op, const BlockRange& range) {
  if (refused_before(op)) {
    ++tally_.bad_frees;
    return;
  }
  freed_.clear();
  translation_.free(op.ino, range, freed_);
  let_go(freed_, op.file_data);
}

void WhatIf::let_go(const std::vector<BlockRange>& ranges, bool file_data) {
  for (const BlockRange& range : ranges) (void)free_range(range, file_data);
}

// Whether Follow found that this free contradicts the recorded state.
bool WhatIf::refused_before(const Op& op) const {
  return std::ranges::binary_search(inputs_.refused_frees, op.ordinal);
}

}  // namespace e4r::replay
