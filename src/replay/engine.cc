// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/engine.h"

#include <sys/stat.h>

#include <algorithm>
#include <numeric>

namespace e4r::replay {

namespace {

allocator::Tunables effective(const allocator::Policy& policy, allocator::Tunables tunables) {
  if (policy.walk_only) tunables.mb_optimize_scan = 0;
  return tunables;
}

}  // namespace

Engine::Engine(const state::Source& source, const allocator::Policy& policy,
               const allocator::Tunables& tunables, EngineOptions options)
    : state_(source, allocator::group_index(policy, tunables)),
      allocator_(state_, policy, effective(policy, tunables)),
      options_(std::move(options)),
      source_(source) {
  if (options_.warm != nullptr) warm_up(*options_.warm);
}

// Every group is loaded, in whatever order; what lies in memory alone is put there.
void Engine::warm_up(const WarmStart& warm) {
  for (std::uint32_t group = 0; group < state_.group_count(); ++group) {
    state_.load(group);
    state_.mark_read(state_.group(group));
  }
  for (const allocator::PlantedPrealloc& pa : warm.preallocs) allocator_.plant(pa);
  allocator_.plant(warm.streams);
  // The kernel moves its mark of the first free cluster down at once, up not always.
  for (const state::MbGroup& shown : warm.groups) {
    if (shown.number >= state_.group_count()) continue;
    state::Group& group = state_.group(shown.number);
    group.first_free = std::min(group.first_free, shown.first_free);
  }
  std::vector<std::uint32_t> ascending(state_.group_count());
  std::iota(ascending.begin(), ascending.end(), 0u);
  const auto arrange = [&](state::OrderLists lists, const std::vector<std::uint32_t>& rank) {
    state_.arrange(lists, rank.size() == ascending.size() ? rank : ascending);
  };
  arrange(state::OrderLists::largest, warm.rank_by_largest);
  arrange(state::OrderLists::average, warm.rank_by_average);
}

Status Engine::run(trace::EventSource& events) {
  constexpr std::uint64_t kProgressEvery = 1 << 16;
  OpStream stream(events, state_.geometry(), options_.warm != nullptr, late());
  Intake intake(state_.geometry(), contradictions_);
  for (std::uint64_t count = 1;; ++count) {
    E4R_TRY(Op * op, stream.next());
    if (op == nullptr) break;
    if (intake.admit(*op)) apply(*op);
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

void Engine::apply(const Op& op) {
  switch (op.kind) {
    case Op::Kind::allocate:
      return on_allocate(op);
    case Op::Kind::free:
      return on_free(op);
    case Op::Kind::discard_inode:
      return allocator_.discard_inode(op.ino, static_cast<std::uint32_t>(op.count));
    case Op::Kind::load_group:
      return allocator_.load_by_others(op.group);
    case Op::Kind::reload_group:
      return allocator_.note_reload();
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
  if (S_ISREG(op.mode)) facts_.made(op.ino);
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
  r.size_hint = facts_.of(op.ino).size;
  if (op.has_inputs) {
    r.inputs_exact = true;
    r.size_hint = op.i_size;
    r.open_for_write = op.i_writecount > 0;
  }
  return r;
}

void Engine::on_allocate(const Op& op) {
  const std::uint64_t index = allocations_++;
  if (!op.closing.seen) {
    ++tally_.refused;
    return;
  }
  closings_.count(op, state_.geometry());
  decide(op, index);
  if (options_.watch && decisions() % options_.watch_every == 0)
    options_.watch(decisions(), state_);
}

// Where the first request of the decision under way is to be written down; null: nowhere.
Explanation* Engine::to_explain() {
  const std::vector<std::uint64_t>& wanted = options_.explain;
  while (next_to_explain_ < wanted.size() && wanted[next_to_explain_] < decisions())
    ++next_to_explain_;
  if (next_to_explain_ == wanted.size() || wanted[next_to_explain_] != decisions()) return nullptr;
  Explanation& out = explanations_[decisions()];
  return out.text().empty() ? &out : nullptr;
}

std::string Engine::explanation(std::uint64_t decision) const {
  const auto found = explanations_.find(decision);
  return found == explanations_.end() ? std::string() : found->second.text();
}

// The decision to explain is written down from here to where it is counted.
allocator::Decision Engine::allocate(const Op& op, const allocator::Request& request,
                                     allocator::Guide* guide) {
  explaining_ = to_explain();
  if (explaining_ != nullptr) {
    explaining_->begin(op, decisions(), request, state_.geometry(),
                       state_.find_inode_preallocs(request.ino));
    allocator_.observe(explaining_);
  }
  const allocator::Decision decision = allocator_.allocate(request, guide);
  if (explaining_ != nullptr) allocator_.observe(nullptr);
  if (decision.prealloc)
    costs_.add(decisions(), 0, 0);  // without a search
  else
    count_cost();
  return decision;
}

// What the counters have gained by the request that was served last.
void Engine::count_cost() {
  std::uint64_t considered = 0;
  for (const auto& of : counters().by_criterion) considered += of.groups_considered;
  const std::uint64_t examined = counters().extents_scanned;
  costs_.add(decisions(), considered - considered_, examined - examined_);
  considered_ = considered;
  examined_ = examined;
}

void Engine::note_decision(const Op& op, const allocator::Decision& decision, bool forced) {
  if (explaining_ != nullptr) explaining_->end(op, decision, forced);
  explaining_ = nullptr;
  count(op, decision);
  if (is_data(op)) return;
  ++tally_.metadata;
  if (facts_.of(op.ino).regular) ++tally_.mapping;
}

void Engine::note_extra(const Op& op, const allocator::Decision& decision) {
  count(op, decision);
  ++tally_.extra;
}

void Engine::count(const Op& op, const allocator::Decision& decision) {
  if (options_.check) check_result(op, decision);
  ++tally_.requests;
  if (decision.success)
    tally_.allocated_blocks += state_.geometry().to_blocks(decision.len);
  else
    ++tally_.failed;
}

std::uint64_t Engine::map_data(const Op& op, FileLayout& file,
                               const allocator::Decision& decision) {
  const FileExtent extent = {decision.orig.logical, decision.block,
                             state_.geometry().to_blocks(decision.len)};
  write_order_.add(op.ino, file, extent);
  file.map(extent);
  return extent.end();
}

// What the answer of an allocation for data says: from the first block of its cluster on. Of length
// 0 when it says that there is nothing.
FileExtent Engine::recorded_extent(const Op& op) const {
  const std::uint32_t mask = (1u << state_.geometry().cluster_bits) - 1;
  return {op.logical & ~mask, op.block, op.block == 0 ? 0 : state_.geometry().to_blocks(op.len)};
}

void Engine::map_recorded(const Op& op, FileLayout& file) {
  const FileExtent extent = recorded_extent(op);
  if (extent.len == 0) return;
  write_order_.add(op.ino, file, extent);
  file.map(extent);
}

void Engine::record_data(const Op& op) {
  const FileExtent extent = recorded_extent(op);
  if (extent.len > 0) translation_.recorded_data(op.ino, extent.logical, extent.block, extent.len);
}

void Engine::give_back(const BlockRange& range) {
  if (range.len == 0) return;
  const state::Geometry& geometry = state_.geometry();
  const auto clusters = static_cast<std::uint32_t>(geometry.to_clusters(range.len));
  if (!state_.free_clusters(geometry.group_of(range.block), geometry.cluster_in_group(range.block),
                            clusters, transaction_, true))
    ++tally_.bad_frees;
}

void Engine::on_free(const Op& op) {
  const state::Geometry& geometry = state_.geometry();
  const BlockRange range = {geometry.block_of(op.group, op.start), geometry.to_blocks(op.count)};
  free(op, range);
}

bool Engine::free_range(const BlockRange& range, bool file_data) {
  const state::Geometry& geometry = state_.geometry();
  const bool at_once = !geometry.journal || (geometry.data_writeback && file_data);
  std::uint64_t block = range.block;
  std::uint64_t left = range.len;
  bool all = true;
  while (left > 0) {
    const std::uint32_t group = geometry.group_of(block);
    const std::uint64_t room = geometry.first_block(group) + geometry.blocks_per_group - block;
    const std::uint64_t blocks = std::min(left, room);
    const auto clusters = static_cast<std::uint32_t>(geometry.to_clusters(blocks));
    allocator_.load_group(group);
    const bool freed =
        !is_metadata(block, block + blocks) &&
        state_
            .free_clusters(group, geometry.cluster_in_group(block), clusters, transaction_, at_once)
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
  facts_.gone(op.ino);
  scratch_.clear();
  translation_.forget(op.ino, scratch_);
  let_go(scratch_, true);
  state_.forget_inode(op.ino);
}

}  // namespace e4r::replay
