// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/engine.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "replay/checkpoint.h"

namespace e4r::replay {
namespace {

// Adds the number of the last recorded decision to the decider's Error. Either that decision failed
// or an operation after it.
Status told_where(const Status& status, std::uint64_t decision) {
  if (status.ok() || decision == 0 || status.error().message == "stopped") return status;
  return error("{}; the recorded decision is {} (--explain {})", status.error().message, decision,
               decision);
}

}  // namespace

Engine::Engine(const state::Source& source, std::unique_ptr<allocator::Decider> decider,
               const Setup& setup, const TraceFacts& trace)
    : translation_(setup.writers),
      check_every_(setup.check_every),
      trace_(trace),
      source_(source),
      decider_(std::move(decider)) {
  if (setup.keep) setup.keep(accounts_);
  accounts_.begin(*decider_);
  for (const allocator::ReadBatch& batch : trace.early_reads)
    decider_->mark_read(batch.first, batch.next);
  if (trace_.from == nullptr) return;
  for (const Checkpoint::File& file : trace_.from->files) facts_.restore(file.ino, file.facts);
}

Status Engine::run(trace::EventSource& events) {
  OpReader ops(events, geometry(), {trace_.warm, trace_.from}, schedule());
  for (;;) {
    E4R_TRY(const Op* op, ops.next());
    if (op == nullptr) return end(ops);
    E4R_CHECK(advance(*op));
  }
}

Status Engine::advance(const Op& op) {
  constexpr std::uint64_t kProgressEvery = 1 << 16;
  E4R_CHECK(step(op));
  if (stopped_) return error("stopped");
  ++steps_;
  if (check_every_ != 0 && steps_ % check_every_ == 0) E4R_CHECK(check_state(op));
  if (progress_ && steps_ % kProgressEvery == 1 && !progress_(op.ordinal)) return error("stopped");
  return {};
}

Status Engine::end(const OpReader& ops) {
  contradictions_.add(ops.contradictions());
  E4R_CHECK(finish());
  tally_.unanswered = ops.unanswered();
  tally_.bad_frees += state().bad_frees();
  return check_every_ != 0 ? check_state(Op{}) : Status();
}

Status Engine::step(const Op& op) {
  apply(op);
  accounts_.taken(op);
  return told_where(decider_->status(), decisions());
}

Status Engine::finish() {
  for (const state::FsState::Discarding& range : state().discarding())
    groups_while_discarding_.push_back(state::mb_group(state().group(range.group)));
  while (!trimming_.empty()) {
    trimming_.begin()->second.recorded = 0;
    end_discard(trimming_.begin()->first);
  }
  end_discard(0);
  scratch_.clear();
  translation_.settle_shifts(scratch_);
  let_go(scratch_, true);
  return told_where(decider_->finish(), decisions());
}

void Engine::return_to(const Mark& mark) {
  facts_ = mark.facts;
  tally_ = mark.tally;
  contradictions_ = mark.contradictions;
  agreement_ = mark.agreement;
  hash_ = mark.hash;
  closings_ = mark.closings;
  event_ = mark.event;
}

void Engine::load_all_groups() {
  for (std::uint32_t group = 0; group < state().group_count(); ++group) decider_->load_group(group);
}

// Checks that a decision's blocks and preallocation lie inside the group and do not overlap
// metadata.
void Engine::check_result(const Op& op, const allocator::Decision& decision) {
  if (!decision.success || decision.result.len == 0 || !bad_result_.empty()) return;
  const Extent& r = decision.result;
  const std::uint64_t first = geometry().block_of(r.group, r.start);
  const char* what = nullptr;
  if (!geometry().holds(r.group, r.start, r.len))
    what = "leaves its group";
  else if (source_.has_metadata({first, geometry().to_blocks(r.len)}))
    what = "lies on metadata";
  if (what != nullptr)
    bad_result_ =
        fmt::format("event {}: result {}/{}/{} {}", op.ordinal, r.group, r.start, r.len, what);
}

Status Engine::check_state(const Op& op) const {
  if (!bad_result_.empty()) return error("policy {}: {}", policy().name, bad_result_);
  const std::vector<std::string> broken = state().check(1);
  if (broken.empty()) return {};
  return error("policy {}: broken invariant after event {}: {}", policy().name,
               op.ordinal == 0 ? "the last" : std::to_string(op.ordinal), broken.front());
}

void Engine::apply(const Op& op) {
  switch (op.kind) {
    case Op::Kind::allocate:
      return on_allocate(op);
    case Op::Kind::free:
      return on_free(op);
    case Op::Kind::discard_inode:
      return decider_->discard_inode(op.ino, static_cast<std::uint32_t>(op.count));
    case Op::Kind::load_group:
      return decider_->load_by_others(op.group);
    case Op::Kind::reload_group:
      return decider_->note_reload(op.group);
    case Op::Kind::reclaim_group:
      return decider_->reclaim(op.group);
    case Op::Kind::prefetched:
      return decider_->mark_read(op.group, static_cast<std::uint32_t>(op.count));
    case Op::Kind::collapse_range:
    case Op::Kind::insert_range:
      return on_shift(op);
    case Op::Kind::allocate_inode:
      return on_allocate_inode(op);
    case Op::Kind::free_inode:
      return on_free_inode(op);
    case Op::Kind::commit_flushing:
    case Op::Kind::end_commit:
      return on_commit(op);
    case Op::Kind::commit_until:
      return decider_->commit_until(op.count);
    case Op::Kind::unlink_until:
      return decider_->unlink_until(op.count);
    case Op::Kind::hide:
    case Op::Kind::reveal:
      seen_.push_back(op);
      return;
    case Op::Kind::discard_blocks:
      return on_discard(op);
    case Op::Kind::discarded:
      return end_discard(op.request);
    case Op::Kind::trim_group:
      return on_trim(op);
    case Op::Kind::lost:
      tally_.lost_events += std::max<std::uint64_t>(op.count, 1);
      return;
    case Op::Kind::returned:  // only OrderSearch uses it
    case Op::Kind::nothing:
      return;
  }
}

void Engine::on_commit(const Op& op) {
  if (op.kind == Op::Kind::commit_flushing) return decider_->begin_commit();
  ++tally_.commits;
  decider_->end_commit();
  if (!trace_.discards_recorded) decider_->send_discards(allocator::Discards::kAll);
}

// Handles the event with which FITRIM reaches a group. FITRIM discards the runs that are free at
// that moment.
void Engine::on_trim(const Op& op) {
  if (trace_.trims.empty()) {
    live_trim_ = op;
    live_minlen_ = UINT32_MAX;
    return;
  }
  if (op.request > trace_.trims.size()) return;
  const RecordedTrim& recorded = trace_.trims[op.request - 1];
  Trimming trimming;
  allocator::Trim& trim = trimming.trim;
  trim.number = op.request;
  trim.group = op.group;
  trim.start = op.start;
  trim.end = op.start + static_cast<std::uint32_t>(op.count);
  trim.minlen = recorded.minlen;
  trim.even_trimmed =
      trims_again(recorded.call, state().group(op.group).trimmed && recorded.sent > 0);
  trimming.recorded = recorded.sent;
  const bool at_once = recorded.sent == 0 || discards_for_one() == allocator::Discards::kAll;
  decider_->trim(trim, at_once ? allocator::Discards::kAll : 0);
  if (!trim.done) trimming_.emplace(op.request, trimming);
}

// Handles a recorded discard of a FITRIM. The model discards one run for each recorded run. In a
// live run (`trims` is empty), only this one range of the FITRIM is known, and it exists only in
// the recorded layout.
void Engine::on_discard_of_trim(const Op& op) {
  if (trace_.trims.empty() && discards_for_one() == allocator::Discards::kAll)
    return trim_alike(op);
  if (trace_.trims.empty()) {
    allocator::Trim& trim = trimming_[op.request].trim;
    trim = {};
    trim.number = op.request;
    trim.group = op.group;
    trim.start = op.start;
    trim.minlen = static_cast<std::uint32_t>(op.count);
    trim.end = op.start + trim.minlen;
    trim.even_trimmed = true;
  }
  const auto found = trimming_.find(op.request);
  if (found == trimming_.end()) return;
  Trimming& trimming = found->second;
  if (trimming.recorded > 0) --trimming.recorded;
  decider_->trim(trimming.trim, 1);
}

// Handles a recorded discard of a FITRIM in a live run with its own layout. The FITRIM's minlen is
// not known in advance. So the model discards all runs of the group that are at least as long as
// the recorded run. When a shorter recorded run follows, it discards the runs that are at least
// that long.
void Engine::trim_alike(const Op& op) {
  const std::uint64_t length = std::max<std::uint64_t>(op.count, 1);
  if (live_trim_.request != op.request || length >= live_minlen_) return;
  live_minlen_ = static_cast<std::uint32_t>(length);
  allocator::Trim trim;
  trim.number = op.request;
  trim.group = live_trim_.group;
  trim.start = live_trim_.start;
  trim.end = live_trim_.start + static_cast<std::uint32_t>(live_trim_.count);
  trim.minlen = live_minlen_;
  trim.even_trimmed = true;
  decider_->trim(trim, allocator::Discards::kAll);
}

// Called when the sender `by` has given back the range that it last discarded. `by` is the number
// of a trim, or 0 for the worker. After the last recorded run of a trim, the model discards all
// remaining runs.
void Engine::end_discard(std::uint64_t by) {
  if (discards_for_one() == allocator::Discards::kAll) return;
  if (by == 0) {
    decider_->send_discards(0);
    return;
  }
  const auto found = trimming_.find(by);
  if (found == trimming_.end()) return;
  const bool last = found->second.recorded == 0;
  decider_->trim(found->second.trim, last && !trace_.trims.empty() ? allocator::Discards::kAll : 0);
  if (last) trimming_.erase(found);
}

// Handles a recorded discard. A free that takes effect at once discards its own clusters, so its
// recorded discard needs no further action. If the worker has nothing to discard, the recorded
// discard belongs to a FITRIM whose ext4_trim_all_free is missing from the trace. A replay with its
// own extents cannot distinguish the worker from such a FITRIM.
void Engine::on_discard(const Op& op) {
  recorded_discards_.add(geometry().to_blocks(op.count));
  if (op.request != 0) return on_discard_of_trim(op);
  const bool mounted = source_.geometry.discard;
  const bool own = mounted && source_.geometry.frees_at_once(last_free_.file_data) &&
                   last_free_.pid == op.pid && last_free_.group == op.group &&
                   last_free_.start == op.start && last_free_.count == op.count;
  if (own) return;
  const std::uint64_t most = discards_for_one();
  if (mounted && (decider_->send_discards(most) > 0 || most == allocator::Discards::kAll)) return;
  decider_->touch(op.group, op.start, static_cast<std::uint32_t>(op.count));
}

void Engine::on_allocate_inode(const Op& op) {
  decider_->make_inode(op.ino);
  if (S_ISREG(op.mode)) facts_.made(op.ino);
}

// Handles a range that was removed from a file or inserted into it. The kernel refuses both for a
// file without extents (ext4_collapse_range and ext4_insert_range, Linux 5.4 to 7.3).
void Engine::on_shift(const Op& op) {
  if (!source_.geometry.extents) return;
  const FileShift shift = {op.logical, op.count, op.kind == Op::Kind::insert_range};
  facts_.shifted(op.ino, shift, geometry());
  scratch_.clear();
  translation_.announce_shift(op.ino, shift, scratch_);
  let_go(scratch_, true);
}

// Moves a file's data before a request for further data, if ranges were removed from the file or
// inserted into it.
void Engine::settle_shifts(const Op& op) {
  scratch_.clear();
  translation_.settle_shifts(op.ino, op.logical + geometry().to_blocks(op.closing.orig.len),
                             {op.left_logical, op.left_block}, {op.right_logical, op.right_block},
                             scratch_);
  let_go(scratch_, true);
}

allocator::Request Engine::request_of(const Op& op, const allocator::DecisionInputs& known) const {
  allocator::Request r;
  r.number = op.request;
  r.ino = op.ino;
  r.len = op.closing.seen ? op.closing.orig.len : op.request_len;
  r.logical = op.logical;
  r.goal = op.goal;
  r.left_block = op.left_block;
  r.right_block = op.right_block;
  r.left_logical = op.left_logical;
  r.right_logical = op.right_logical;
  r.flags = op.flags;
  r.cpu = cpu_.value_or(known.on_closing_cpu ? op.closing.cpu : op.cpu);
  r.inputs = known;
  r.held = held_;
  r.size_hint = facts_.of(op.ino).size;
  if (op.has_inputs) {
    r.inputs_exact = true;
    r.size_hint = op.i_size;
    r.open_for_write = op.i_writecount > 0;
  }
  return r;
}

void Engine::on_allocate(const Op& op) {
  if (!op.closing.seen) {
    ++tally_.refused;
    return;
  }
  closings_.count(op, geometry());
  if (is_data(op) && translation_.has_waiting_shifts(op.ino)) settle_shifts(op);
  decide(op);
  seen_.clear();
  accounts_.done(decisions(), state());
}

allocator::Decision Engine::allocate(const Op& op, const allocator::Request& request,
                                     allocator::Guide* guide) {
  accounts_.asked(describe_request(op, request));
  for (const Op& seen : std::exchange(seen_, {}))
    decider_->pretend(seen.group, seen.start, static_cast<std::uint32_t>(seen.count),
                      seen.kind == Op::Kind::reveal);
  return decider_->allocate(request, guide);
}

void Engine::note(const Decided& decided) {
  count(decided.op, decided.own);
  if (decided.extra) {
    ++tally_.extra;
  } else if (!is_data(decided.op)) {
    ++tally_.metadata;
    if (facts_.of(decided.op.ino).regular) ++tally_.mapping;
  }
  if (!accounts_.decided(decided)) stopped_ = true;
}

void Engine::count(const Op& op, const allocator::Decision& decision) {
  if (check_every_ != 0) check_result(op, decision);
  ++tally_.requests;
  hash_.add(decision.success ? decision.block : 0, decision.len);
  tally_.guessed_sizes += decision.size_guessed ? 1 : 0;
  tally_.guessed_writers += decision.writers_guessed ? 1 : 0;
  if (decision.success)
    tally_.allocated_blocks += geometry().to_blocks(decision.len);
  else
    ++tally_.failed;
}

std::uint64_t Engine::map_data(const Op& op, FileLayout& file,
                               const allocator::Decision& decision) {
  const FileExtent extent = {decision.orig.logical, decision.block,
                             geometry().to_blocks(decision.len)};
  accounts_.placed(op.ino, file, extent);
  file.map(extent);
  return extent.end();
}

// The blocks in the answer to a data allocation, starting at the first block of their cluster. The
// length is 0 if the answer names no range.
FileExtent Engine::recorded_extent(const Op& op) const {
  const std::uint32_t mask = (1u << geometry().cluster_bits) - 1;
  return {op.logical & ~mask, op.block, op.block == 0 ? 0 : geometry().to_blocks(op.len)};
}

void Engine::map_recorded(const Op& op, FileLayout& file) {
  const FileExtent extent = recorded_extent(op);
  if (extent.len == 0) return;
  accounts_.placed(op.ino, file, extent);
  file.map(extent);
}

void Engine::record_data(const Op& op) {
  const FileExtent extent = recorded_extent(op);
  if (extent.len > 0) translation_.recorded_data(op.ino, extent.logical, extent.block, extent.len);
}

void Engine::give_back(const BlockRange& range) {
  if (range.count == 0) return;
  const Geometry& g = geometry();
  const auto clusters = static_cast<std::uint32_t>(g.to_clusters(range.count));
  if (!decider_->give_back(g.group_of(range.first), g.cluster_in_group(range.first), clusters))
    ++tally_.bad_frees;
}

void Engine::on_free(const Op& op) {
  const BlockRange range = {geometry().block_of(op.group, op.start),
                            geometry().to_blocks(op.count)};
  if (source_.geometry.discard) last_free_ = op;
  event_ = std::max(event_, op.ordinal);
  decider_->note_event(event_);
  free(op, range);
}

bool Engine::free_range(BlockRange range, bool file_data) {
  const Geometry& g = geometry();
  bool all = true;
  while (range.count > 0) {
    const BlockRange part = g.front_in_group(range);
    const std::uint32_t group = g.group_of(part.first);
    const auto clusters = static_cast<std::uint32_t>(g.to_clusters(part.count));
    decider_->load_group(group);
    const bool freed = !source_.has_metadata(part) &&
                       decider_->free(group, g.cluster_in_group(part.first), clusters, file_data);
    if (freed) {
      tally_.freed_clusters += clusters;
      accounts_.freed(group);
    } else {
      ++tally_.bad_frees;
    }
    all = all && freed;
    range = {part.end(), range.count - part.count};
  }
  return all;
}

void Engine::on_free_inode(const Op& op) {
  facts_.gone(op.ino);
  scratch_.clear();
  translation_.forget(op.ino, scratch_);
  let_go(scratch_, true);
  decider_->drop_inode(op.ino);
}

}  // namespace e4r::replay
