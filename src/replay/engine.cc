// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/engine.h"

#include <sys/stat.h>

#include <algorithm>

namespace e4r::replay {

namespace {

constexpr std::uint32_t kModeFlags = mb::hint_group_alloc | mb::stream_alloc | mb::hint_noprealloc;

bool is_data(const Op& op) {
  return (op.flags & mb::hint_data) != 0;
}

// The mode that a search's closing event shows.
allocator::Mode mode_of(const Op& op) {
  const std::uint32_t flags = op.closing.flags & kModeFlags;
  if ((flags & mb::hint_group_alloc) != 0) return allocator::Mode::group;
  if ((flags & mb::stream_alloc) != 0) return allocator::Mode::stream;
  return (flags & mb::hint_noprealloc) != 0 ? allocator::Mode::noprealloc
                                            : allocator::Mode::unknown;
}

state::Extent extent_of(const trace::GroupExtent& e) {
  return {e.group, static_cast<std::uint32_t>(e.start), e.len, e.logical};
}

// The decision as the model made it, before the recorded result was put in place.
allocator::Decision judged(allocator::Decision decision, const allocator::Steering& steering) {
  if (!steering.forced) return decision;
  decision.prealloc = steering.own.prealloc;
  decision.result = steering.own.result;
  decision.goal = steering.own.goal;
  return decision;
}

allocator::Tunables effective(const allocator::Policy& policy, allocator::Tunables tunables) {
  if (policy.walk_only) tunables.mb_optimize_scan = 0;
  return tunables;
}

}  // namespace

Engine::Engine(const state::Source& source, const allocator::Policy& policy,
               const allocator::Tunables& tunables, EngineOptions options)
    : options_(std::move(options)),
      source_(source),
      state_(source, allocator::group_index(policy, tunables)),
      allocator_(state_, policy, effective(policy, tunables)) {}

Status Engine::run(trace::EventSource& events, InputTable& inputs) {
  constexpr std::uint64_t kProgressEvery = 1 << 16;
  OpStream stream(events, state_.geometry());
  Intake intake(state_.geometry(), contradictions_);
  for (std::uint64_t count = 1;; ++count) {
    E4R_TRY(Op * op, stream.next());
    if (op == nullptr) break;
    if (intake.admit(*op)) apply(*op, inputs);
    if (options_.check && count % options_.check_every == 0) E4R_CHECK(check_state(*op));
    if (options_.progress && count % kProgressEvery == 0) options_.progress(op->ordinal);
  }
  if (stream.strays() > 0)
    contradictions_.note(&Contradictions::strays, stream.first_stray(), stream.strays());
  tally_.unanswered = stream.unanswered();
  tally_.bad_requests = contradictions_.outside;
  tally_.bad_frees += state_.bad_frees();
  return options_.check ? check_state(Op{}) : Status();
}

// Holds what a decision handed out and preallocated against the group's size and the metadata.
void Engine::check_result(const Op& op, const allocator::Decision& decision) {
  if (!decision.success || decision.result.len == 0 || !bad_result_.empty()) return;
  const state::Geometry& geometry = state_.geometry();
  const state::Extent& r = decision.result;
  const std::uint64_t first = geometry.block_of(r.group, r.start);
  const char* what = nullptr;
  if (!geometry.holds(r.group, r.start, r.len))
    what = "leaves its group";
  else if (is_metadata(first, first + geometry.to_blocks(r.len)))
    what = "lies on metadata";
  if (what != nullptr)
    bad_result_ =
        fmt::format("event {}: result {}/{}/{} {}", op.ordinal, r.group, r.start, r.len, what);
}

// Whether metadata lies among the blocks [first, end).
bool Engine::is_metadata(std::uint64_t first, std::uint64_t end) const {
  const auto after =
      std::partition_point(source_.metadata.begin(), source_.metadata.end(),
                           [&](const state::BlockSpan& span) { return span.end <= first; });
  return after != source_.metadata.end() && after->first < end;
}

Status Engine::check_state(const Op& op) const {
  if (!bad_result_.empty()) return error("policy {}: {}", policy().name, bad_result_);
  const std::vector<std::string> broken = state_.check(1);
  if (broken.empty()) return {};
  return error("policy {}: broken invariant after event {}: {}", policy().name,
               op.ordinal == 0 ? "the last" : std::to_string(op.ordinal), broken.front());
}

void Engine::apply(const Op& op, InputTable& inputs) {
  switch (op.kind) {
    case Op::Kind::allocate:
      return on_allocate(op, inputs);
    case Op::Kind::free:
      return on_free(op, inputs);
    case Op::Kind::discard_inode:
      return allocator_.discard_inode(op.ino, static_cast<std::uint32_t>(op.count));
    case Op::Kind::load_group:
      return allocator_.load_by_others(op.group);
    case Op::Kind::prefetched:
      return allocator_.mark_read(op.group, static_cast<std::uint32_t>(op.count));
    case Op::Kind::allocate_inode:
      return on_allocate_inode(op);
    case Op::Kind::free_inode:
      return on_free_inode(op);
    case Op::Kind::commit_flushing:
    case Op::Kind::end_commit:
      return on_commit(op);
    case Op::Kind::lost:
      tally_.lost_events += std::max<std::uint64_t>(op.count, 1);
      return;
    case Op::Kind::nothing:
      return;
  }
}

// One transaction commits after the other: when the next one flushes, the one before has ended.
void Engine::on_commit(const Op& op) {
  const bool ends = op.kind == Op::Kind::end_commit;
  tally_.commits += ends ? 1 : 0;
  if (committing_) state_.commit(transaction_ - 1);
  committing_ = !ends;
  transaction_ += ends ? 0 : 1;
}

void Engine::on_allocate_inode(const Op& op) {
  // A new inode has no preallocations, even if the event that released the old one's was lost.
  allocator_.discard_inode(op.ino, 0);
  if (S_ISREG(op.mode)) facts_[op.ino].regular = true;
  const auto per_group = state_.geometry().inodes_per_group;
  const std::uint64_t group = per_group == 0 ? state_.group_count() : (op.ino - 1) / per_group;
  if (group < state_.group_count()) state_.clear_block_uninit(static_cast<std::uint32_t>(group));
}

allocator::Request Engine::request_of(const Op& op, const allocator::Inputs& known) const {
  allocator::Request r;
  r.ino = op.ino;
  r.len = op.closing.seen ? op.closing.orig.len : op.request_len;
  r.logical = op.logical;
  r.goal = op.goal;
  r.left_block = op.pleft;
  r.right_block = op.pright;
  r.left_logical = op.lleft;
  r.right_logical = op.lright;
  r.flags = op.flags;
  r.cpu = op.cpu;
  r.inputs = known;
  const auto facts = facts_.find(op.ino);
  if (facts != facts_.end()) r.size_hint = facts->second.size;
  if (op.has_inputs) {
    r.inputs_exact = true;
    r.size_hint = op.i_size;
    r.open_for_write = op.i_writecount > 0;
  } else if (r.inputs.mode == allocator::Mode::unknown && facts != facts_.end() &&
             facts->second.mode == allocator::Mode::stream && options_.purpose != Purpose::agree) {
    r.inputs.mode = allocator::Mode::stream;
  }
  return r;
}

void Engine::on_allocate(const Op& op, InputTable& inputs) {
  const std::uint64_t index = allocation_++;
  if (!op.closing.seen) {
    ++tally_.refused;
    if (options_.purpose == Purpose::agree) inputs.known.resize(index + 1);
    return;
  }
  ++closed_;
  allocator::Inputs known = index < inputs.known.size() ? inputs.known[index] : allocator::Inputs{};
  if (options_.purpose == Purpose::agree) {
    known = {};
    if (!op.closing.prealloc && is_data(op)) known.mode = mode_of(op);
    allocator::Request request = request_of(op, known);
    follow(op, request, known);
    inputs.known.resize(index);
    inputs.known.push_back(known);
  } else {
    allocator::Request request = request_of(op, known);
    decide(op, request);
  }
}

// One request to the allocator; written down when it is the one to explain.
allocator::Decision Engine::allocate(const Op& op, const allocator::Request& request,
                                     allocator::Steering& steering) {
  const bool wanted = closed_ == options_.explain && explanation_.text().empty();
  if (!wanted) return allocator_.allocate(request, &steering);
  explanation_.begin(op, closed_, request, state_.geometry(),
                     state_.find_inode_preallocs(request.ino));
  allocator_.observe(&explanation_);
  const allocator::Decision decision = allocator_.allocate(request, &steering);
  allocator_.observe(nullptr);
  explanation_.end(op, judged(decision, steering), steering.inputs, steering.forced);
  return decision;
}

// Decides with the recorded result at hand, which replaces the model's where they differ.
void Engine::follow(const Op& op, allocator::Request& request, allocator::Inputs& out) {
  const allocator::Recorded recorded = {.prealloc = op.closing.prealloc,
                                        .goal = extent_of(op.closing.goal),
                                        .result = extent_of(op.closing.result),
                                        .flags = op.closing.flags,
                                        .found = op.closing.found,
                                        .criterion = op.closing.criterion,
                                        .goal_len = op.closing.orig_goal_len,
                                        .placed_at = op.placed_at};
  allocator::Steering steering;
  steering.recorded = &recorded;
  steering.fit_size = true;
  const allocator::Decision decision = allocate(op, request, steering);
  agreement_.conflicts += steering.conflicts;
  contradictions_.note(&Contradictions::in_use, op.ordinal, steering.conflicts);
  note_decision(op, judged(decision, steering), steering.forced);
  out = steering.inputs;
  learn(op, request, out);
  if (!decision.success) return;
  const std::uint64_t blocks = state_.geometry().to_blocks(decision.len);
  if (is_data(op)) translation_.file(op.ino).map({decision.orig.logical, decision.block, blocks});
  record(op, decision.block, blocks);
}

void Engine::note_decision(const Op& op, const allocator::Decision& decision, bool forced) {
  if (options_.check) check_result(op, decision);
  ++tally_.requests;
  if (!is_data(op)) note_metadata(op);
  if (decision.success)
    tally_.allocated_blocks += state_.geometry().to_blocks(decision.len);
  else
    ++tally_.failed;
  if (options_.purpose != Purpose::what_if) agreement_.count(op, decision, forced);
}

void Engine::note_metadata(const Op& op) {
  ++tally_.metadata;
  const auto facts = facts_.find(op.ino);
  if (facts != facts_.end() && facts->second.regular) ++tally_.mapping;
}

// Keeps what the request shows of its file's size and mode.
void Engine::learn(const Op& op, const allocator::Request& request,
                   const allocator::Inputs& inputs) {
  if (!is_data(op)) return;
  FileFacts& facts = facts_[op.ino];
  facts.regular = true;
  const state::Geometry& geometry = state_.geometry();
  const std::uint64_t end = (request.logical + geometry.to_blocks(request.len))
                            << geometry.block_bits;
  facts.size = std::max(facts.size, end);
  if (inputs.size != allocator::SizeStep::unknown &&
      allocator::size_step(facts.size, geometry) != inputs.size)
    facts.size = std::max(allocator::smallest_in(inputs.size), end);
  if (inputs.mode != allocator::Mode::unknown) facts.mode = inputs.mode;
}

void Engine::record(const Op& op, std::uint64_t here, std::uint64_t blocks) {
  const std::uint64_t recorded = state_.geometry().to_blocks(op.len);
  if (op.block == 0 || recorded == 0) return;
  const std::uint32_t mask = (1u << state_.geometry().cluster_bits) - 1;
  if (is_data(op))
    translation_.recorded_data(op.ino, op.logical & ~mask, op.block, recorded);
  else
    translation_.recorded_metadata(op.block, here, std::min(blocks, recorded));
}

// Decides alone: the request is first moved from the recorded layout to the replay's.
void Engine::decide(const Op& op, allocator::Request& request) {
  translate_neighbours(op, request);
  if (is_data(op)) {
    place_data(op, request);
    record(op, 0, 0);
  } else {
    place_metadata(op, request);
  }
}

// Serves as many blocks of metadata as the recorded request got. Those are what the trace will
// free one day, so anything beyond them goes back at once.
void Engine::place_metadata(const Op& op, allocator::Request& request) {
  const state::Geometry& geometry = state_.geometry();
  const std::uint64_t recorded = op.block == 0 ? 0 : geometry.to_blocks(op.len);
  std::uint64_t placed = 0;
  bool first = true;
  do {
    allocator::Steering steering;
    const allocator::Decision decision = allocate(op, request, steering);
    first ? note_decision(op, decision) : note_extra(op, decision);
    first = false;
    if (!decision.success) break;
    const std::uint64_t blocks = geometry.to_blocks(decision.len);
    const std::uint64_t kept = std::min(blocks, recorded - placed);
    translation_.recorded_metadata(op.block + placed, decision.block, kept);
    give_back({decision.block + kept, blocks - kept});
    placed += kept;
    request.goal = decision.block + blocks;
    request.len = static_cast<std::uint32_t>(geometry.to_clusters(recorded - placed));
  } while (placed < recorded);
  translation_.recorded_metadata(op.block + placed, 0, recorded - placed);
}

// Returns blocks of one group that were allocated a moment ago.
void Engine::give_back(const BlockRange& range) {
  if (range.len == 0) return;
  const state::Geometry& geometry = state_.geometry();
  const auto clusters = static_cast<std::uint32_t>(geometry.to_clusters(range.len));
  if (!state_.free_clusters(geometry.group_of(range.block), geometry.cluster_in_group(range.block),
                            clusters, transaction_, true))
    ++tally_.bad_frees;
}

void Engine::note_extra(const Op& op, const allocator::Decision& decision) {
  if (options_.check) check_result(op, decision);
  ++tally_.requests;
  ++tally_.extra;
  if (decision.success)
    tally_.allocated_blocks += state_.geometry().to_blocks(decision.len);
  else
    ++tally_.failed;
}

// Serves the file range that the recorded request got, in as many requests as that takes here.
void Engine::place_data(const Op& op, allocator::Request& request) {
  const state::Geometry& geometry = state_.geometry();
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
    if (at != request.logical || !first) {
      const FileExtent* left = file.left_of(at);
      const std::uint64_t end = std::max(asked_end, recorded_end);
      request.logical = static_cast<std::uint32_t>(at);
      request.len = static_cast<std::uint32_t>(geometry.to_clusters(end - at));
      if (left != nullptr) {
        request.left_logical = static_cast<std::uint32_t>(left->end() - 1);
        request.left_block = left->block + left->len - 1;
        request.goal = request.left_block + (at - request.left_logical);
      }
    }
    // The replay may have blocks further on that the recorded kernel had not got yet.
    if (const FileExtent* right = file.right_of(at))
      request.len = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(request.len, geometry.to_clusters(right->logical - at)));
    allocator::Steering steering;
    const allocator::Decision decision = allocate(op, request, steering);
    first ? note_decision(op, decision) : note_extra(op, decision);
    first = false;
    learn(op, request, steering.inputs);
    if (!decision.success) return;
    const std::uint64_t blocks = geometry.to_blocks(decision.len);
    file.map({decision.orig.logical, decision.block, blocks});
    at = decision.orig.logical + blocks;
  }
  if (!first) return;
  ++tally_.absorbed;
  if (options_.purpose == Purpose::free_run) agreement_.count_not_taken(op);
}

// Goal and neighbours of a recorded request, moved to where the replay has those blocks.
void Engine::translate_neighbours(const Op& op, allocator::Request& request) {
  const auto moved = [&](std::uint64_t block) {
    const std::uint64_t here = translation_.find(block);
    return here == 0 ? block : here;
  };
  if (op.pleft != 0) request.left_block = moved(op.pleft);
  if (op.pright != 0) request.right_block = moved(op.pright);
  const std::uint64_t from_left = op.pleft + (op.logical - op.lleft);
  const std::uint64_t from_right = op.pright - (op.lright - op.logical);
  if (op.pleft != 0 && op.goal == from_left)
    request.goal = request.left_block + (op.logical - op.lleft);
  else if (op.pright != 0 && op.goal == from_right)
    request.goal = request.right_block - (op.lright - op.logical);
  else if (const std::uint64_t here = translation_.find(op.goal); here != 0 && here != op.goal)
    request.goal = here;
  else if (op.goal > 0 && !is_data(op))
    request.goal = moved(op.goal - 1) + 1;
}

void Engine::on_free(const Op& op, InputTable& inputs) {
  const state::Geometry& geometry = state_.geometry();
  const BlockRange range = {geometry.block_of(op.group, op.start), geometry.to_blocks(op.count)};
  const bool follows = options_.purpose == Purpose::agree;
  if (follows && !free_range(range)) {
    contradictions_.note(&Contradictions::not_in_use, op.ordinal);
    inputs.refused_frees.push_back(op.ordinal);
    return;
  }
  if (!follows && refused_before(op, inputs)) {
    ++tally_.bad_frees;
    return;
  }
  scratch_.clear();
  translation_.free(range.block, range.len, scratch_);
  if (follows) return;
  for (const BlockRange& part : scratch_) (void)free_range(part);
}

// Whether the recorded state had shown that this free cannot be so.
bool Engine::refused_before(const Op& op, const InputTable& inputs) {
  const auto& refused = inputs.refused_frees;
  while (refused_ < refused.size() && refused[refused_] < op.ordinal) ++refused_;
  return refused_ < refused.size() && refused[refused_] == op.ordinal;
}

// Frees a range of blocks, group by group; false when part of it was none to free.
bool Engine::free_range(const BlockRange& range) {
  const state::Geometry& geometry = state_.geometry();
  std::uint64_t block = range.block;
  std::uint64_t left = range.len;
  bool all = true;
  while (left > 0) {
    const std::uint32_t group = geometry.group_of(block);
    const std::uint64_t room = geometry.first_block(group) + geometry.blocks_per_group - block;
    const std::uint64_t blocks = std::min(left, room);
    const auto clusters = static_cast<std::uint32_t>(geometry.to_clusters(blocks));
    allocator_.load_group(group);
    const bool freed = !is_metadata(block, block + blocks) &&
                       state_
                           .free_clusters(group, geometry.cluster_in_group(block), clusters,
                                          transaction_, !geometry.journal)
                           .ok();
    if (freed)
      tally_.freed_clusters += clusters;
    else
      ++tally_.bad_frees;
    all = all && freed;
    block += blocks;
    left -= blocks;
  }
  return all;
}

void Engine::on_free_inode(const Op& op) {
  facts_.erase(op.ino);
  scratch_.clear();
  // What the replay got ahead of the recorded kernel was never freed by it.
  translation_.forget(op.ino, scratch_);
  if (options_.purpose != Purpose::agree)
    for (const BlockRange& range : scratch_) (void)free_range(range);
  state_.forget_inode(op.ino);
}

}  // namespace e4r::replay
