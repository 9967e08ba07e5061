// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/accounts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "replay/agreement.h"

namespace e4r::replay {
namespace {

// Whether the allocated blocks begin at the goal. The kernel tries preallocations before it
// normalises a request. So a preallocation hit has the goal of the unchanged request.
bool at_goal(const Op& op, const Geometry& geometry) {
  if (op.block == 0) return false;
  const trace::RecordedExtent& goal = op.closing.prealloc ? op.closing.orig : op.closing.goal;
  return geometry.lies_at(op.block, goal.group, static_cast<std::uint32_t>(goal.start));
}

}  // namespace

void ClosingCounts::count(const Op& op, const Geometry& geometry) {
  const Closing& c = op.closing;
  ++requests;
  hash.add(op.block, op.len);
  allocated += op.len;
  failed += op.block == 0 ? 1 : 0;
  success += op.len >= c.orig.len ? 1 : 0;
  goal_hits += at_goal(op, geometry) ? 1 : 0;
  if (c.prealloc) return;
  extents_scanned += c.found;
  groups_scanned += c.groups;
  if (c.result.len == 0) return;
  goals_hidden += mb::row_of(c.criterion).trims && c.orig_goal_len == 0 ? 1 : 0;
  len_goal_hits += c.result.len == std::max(c.orig_goal_len, c.goal.len) ? 1 : 0;
  if (c.groups == 0) return;
  if (c.criterion == mb::Criterion::unknown)
    ++nameless;
  else
    ++hits[static_cast<std::size_t>(c.criterion)];
}

SearchCost SearchMeter::take(const Decided& one) {
  if (one.made.prealloc) return {.groups = 0};
  const allocator::Counters& counters = one.decider.counters();
  const auto considered = counters.considered();
  SearchCost out;
  if (considered) out.groups = *considered - std::exchange(considered_, *considered);
  out.extents = counters.extents_scanned - std::exchange(examined_, counters.extents_scanned);
  return out;
}

void CostProfile::Bucket::join(const Bucket& other) {
  requests += other.requests;
  steps += other.steps;
  most = std::max(most, other.most);
}

void CostProfile::rank(const Decision& decision) {
  const auto after = std::ranges::find_if(
      slowest_, [&](const Decision& one) { return one.cost.steps() < decision.cost.steps(); });
  slowest_.insert(after, decision);
  if (slowest_.size() > kSlowest) slowest_.pop_back();
}

bool CostProfile::decided(const Decided& one) {
  add(one.decision, meter_.take(one));
  return true;
}

void CostProfile::add(std::uint64_t decision, const SearchCost& cost) {
  const std::uint64_t steps = cost.steps();
  course_.at(decision).join({1, steps, steps});
  if (decision == last_) return;
  last_ = decision;
  if (steps > 0 && (slowest_.size() < kSlowest || steps > slowest_.back().cost.steps()))
    rank({decision, cost});
}

void WriteOrder::placed(std::uint64_t ino, const FileLayout& file, const FileExtent& extent) {
  if (extent.len == 0) return;
  neighbours += extent.len - 1;
  in_order += extent.len - 1;
  if (file.find(extent.end()) != nullptr) ++neighbours;
  const auto extents = file.extents();
  const bool grows = !extents.empty() && extents.back().end() == extent.logical;
  if (grows || (extent.logical > 0 && file.find(extent.logical - 1) != nullptr)) {
    ++neighbours;
    ++continued;
    if (last_ino_ == ino && last_.end() == extent.logical)
      ++in_order;
    else
      ++interrupted;
  }
  if (allocations > 0 && last_.block_end() == extent.block) ++adjacent;
  ++allocations;
  last_ino_ = ino;
  last_ = extent;
}

namespace {

// Hashes a sequence of values with the mixing function of SplitMix64.
class Digest {
 public:
  void add(std::uint64_t value) {
    sum_ += value + 0x9e3779b97f4a7c15;
    sum_ = (sum_ ^ sum_ >> 30) * 0xbf58476d1ce4e5b9;
    sum_ = (sum_ ^ sum_ >> 27) * 0x94d049bb133111eb;
    sum_ ^= sum_ >> 31;
  }
  void add(const Extent& e) {
    add(std::uint64_t{e.group} << 32 | e.start);
    add(std::uint64_t{e.len} << 32 | e.logical);
  }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

// Returns a hash of the fields that Agreement compares and of the allocated blocks.
std::uint64_t digest(const allocator::Decision& d) {
  Digest out;
  out.add(static_cast<std::uint64_t>(d.prealloc) << 1 | static_cast<std::uint64_t>(d.success));
  out.add(d.orig);
  out.add(d.result);
  if (d.success) {
    out.add(d.block);
    out.add(d.len);
  }
  if (d.prealloc) return out.sum();
  out.add(d.goal);
  out.add(d.found & mb::recorded_bits);
  out.add(d.groups_scanned & mb::recorded_bits);
  out.add(static_cast<std::uint64_t>(d.criterion));
  out.add(d.flags & mb::recorded_bits);
  out.add(d.tail & mb::recorded_bits);
  out.add(d.broken);
  return out.sum();
}

}  // namespace

bool DecisionLog::decided(const Decided& one) {
  add(one.decision, one.made);
  return true;
}

void DecisionLog::add(std::uint64_t decision, const allocator::Decision& made) {
  if (!texts_.empty())
    if (const auto wanted = texts_.find(entries_.size()); wanted != texts_.end())
      wanted->second = describe(made);
  entries_.push_back({decision, digest(made)});
}

std::uint64_t DecisionLog::alike(const DecisionLog& other) const {
  const auto apart = std::mismatch(entries_.begin(), entries_.end(), other.entries_.begin(),
                                   other.entries_.end(), [](const Entry& a, const Entry& b) {
                                     return a.decision == b.decision && a.digest == b.digest;
                                   });
  return static_cast<std::uint64_t>(apart.first - entries_.begin());
}

namespace {

// The part of a row that depends only on the trace, not on the decision.
DecisionRow asked_row(const Op& op) {
  DecisionRow out;
  out.time_ns = op.time_ns;
  out.ino = op.ino;
  out.pid = op.pid;
  out.cpu = op.cpu;
  out.data = is_data(op);
  return out;
}

// The first block of a goal; kNoGoal if the goal names no cluster of the file system.
std::uint64_t goal_of(const Geometry& geometry, std::uint32_t group, std::int64_t start) {
  if (!geometry.holds(group, start, 1)) return kNoGoal;
  return geometry.block_of(group, static_cast<std::uint32_t>(start));
}

// Returns what served a request. `scanned` is the number of groups scanned according to the closing
// event. A search that took its goal scanned no group.
ServedBy served_by(bool prealloc, bool success, std::uint32_t scanned) {
  if (!success) return ServedBy::nothing;
  if (prealloc) return ServedBy::preallocation;
  return scanned == 0 ? ServedBy::goal : ServedBy::search;
}

}  // namespace

DecisionRow made_row(const Op& op, const allocator::Decision& made, const SearchCost& cost,
                     const Geometry& geometry) {
  DecisionRow out = asked_row(op);
  out.goal_block = goal_of(geometry, made.orig.group, made.orig.start);
  out.logical = made.orig.logical;
  out.asked = made.orig.len;
  out.code_ns = made.ns;
  out.served = served_by(made.prealloc, made.success, made.groups_scanned);
  if (made.success) {
    out.block = made.block;
    out.len = made.len;
  }
  out.considered = cost.groups;
  if (made.prealloc) return out;
  out.search_goal_block = goal_of(geometry, made.goal.group, made.goal.start);
  out.search_goal_len = made.goal_len != 0 ? made.goal_len : made.goal.len;
  out.taken = made.result.len;
  out.groups_scanned = made.groups_scanned;
  out.extents_examined = made.found;
  if (out.served == ServedBy::search) out.criterion = made.criterion;
  return out;
}

DecisionRow recorded_row(const Op& op, const Geometry& geometry) {
  const Closing& closing = op.closing;
  DecisionRow out = asked_row(op);
  if (op.answered_ns >= op.time_ns) out.answered_ns = op.answered_ns;
  out.goal_block = goal_of(geometry, closing.orig.group, closing.orig.start);
  out.logical = closing.orig.logical;
  out.asked = closing.orig.len;
  out.served = served_by(closing.prealloc, op.block != 0, closing.groups);
  out.block = op.block;
  out.len = op.len;
  if (closing.prealloc) return out;
  out.search_goal_block = goal_of(geometry, closing.goal.group, closing.goal.start);
  out.search_goal_len = closing.orig_goal_len != 0 ? closing.orig_goal_len : closing.goal.len;
  out.taken = closing.result.len;
  out.groups_scanned = closing.groups;
  out.extents_examined = closing.found;
  if (out.served == ServedBy::search) out.criterion = closing.criterion;
  return out;
}

bool DecisionRows::decided(const Decided& one) {
  const Geometry& geometry = one.decider.state().geometry();
  add(one.decision, of_ == Of::recorded ? recorded_row(one.op, geometry)
                                        : made_row(one.op, one.made, meter_.take(one), geometry));
  return true;
}

void DecisionRows::add(std::uint64_t decision, DecisionRow row) {
  row.decision = decision;
  row.part = rows_.empty() || rows_.back().decision != decision ? 1 : rows_.back().part + 1;
  rows_.push_back(row);
}

namespace {

constexpr std::uint32_t kMostTried = 256;

// Counts the searches whose goal is in the expected group, on the assumption that the kernel keeps
// `last.size()` stream goals.
struct Guess {
  std::vector<std::uint32_t> last;  // for each goal: the group in which its last search ended
  std::uint64_t explained = 0;

  void see(const trace::Event& e) {
    std::uint32_t& goal = last[static_cast<std::uint32_t>(e.ino) % last.size()];
    explained += e.goal_ex.group == goal;
    if (e.result.len > 0) goal = e.result.group;
  }
};

}  // namespace

Result<StreamGoalCount> count_stream_goals(trace::EventSource& events, std::uint32_t groups) {
  std::vector<Guess> guesses(std::clamp((groups + 3) / 4, 1u, kMostTried));
  for (std::size_t i = 0; i < guesses.size(); ++i) guesses[i].last.assign(i + 1, 0);
  StreamGoalCount out;
  for (;;) {
    E4R_TRY(const auto batch, events.next());
    if (batch.empty()) break;
    for (const trace::Event& e : batch) {
      if (e.kind != trace::EventKind::mballoc_alloc || (e.flags & mb::stream_alloc) == 0) continue;
      ++out.searches;
      for (Guess& guess : guesses) guess.see(e);
    }
  }
  if (out.searches == 0) return out;
  const auto best =
      std::max_element(guesses.begin(), guesses.end(),
                       [](const Guess& a, const Guess& b) { return a.explained < b.explained; });
  out.goals = static_cast<std::uint32_t>(best->last.size());
  out.explained = best->explained;
  return out;
}

void FileFacts::asked(const allocator::Request& request, const allocator::DecisionInputs& inputs,
                      const Geometry& geometry) {
  File& file = files_[request.ino];
  file.regular = true;
  const std::uint64_t end = (request.logical + geometry.to_blocks(request.len))
                            << geometry.block_bits;
  file.size = std::max(file.size, end);
  if (inputs.size != allocator::SizeStep::unknown &&
      allocator::size_step(file.size, geometry) != inputs.size)
    file.size = std::max(allocator::smallest_in(inputs.size), end);
  if (inputs.mode != allocator::Mode::unknown) file.mode = inputs.mode;
}

void FileFacts::shifted(std::uint64_t ino, const FileShift& shift, const Geometry& geometry) {
  File* file = files_.find(ino);
  if (file == nullptr) return;
  const std::uint64_t at = shift.at << geometry.block_bits;
  const std::uint64_t bytes = shift.count << geometry.block_bits;
  if (shift.inserts)
    file->size += at < file->size ? bytes : 0;
  else
    file->size = std::max(std::min(file->size, at), file->size - std::min(file->size, bytes));
}

FileFacts::File FileFacts::of(std::uint64_t ino) const {
  const File* file = files_.find(ino);
  return file == nullptr ? File{} : *file;
}

}  // namespace e4r::replay
