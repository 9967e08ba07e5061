// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/explain.h"

#include <algorithm>

#include "allocator/policy.h"
#include "allocator/rungs.h"
#include "util/units.h"

namespace e4r::replay {

using allocator::Refusal;
using allocator::Search;

namespace {

std::string text_of(const Extent& e) {
  return fmt::format("{}/{}/{}@{}", e.group, e.start, e.len, e.logical);
}

std::string_view name_of(allocator::Mode mode) {
  switch (mode) {
    case allocator::Mode::group:
      return "for the CPU's locality group";
    case allocator::Mode::stream:
      return "for the file, by the stream goal";
    case allocator::Mode::noprealloc:
      return "exactly as asked, without preallocation";
    case allocator::Mode::unknown:
      break;
  }
  return "not of data, or from a preallocation";
}

std::string name_of(allocator::SizeStep step) {
  if (step == allocator::SizeStep::unknown) return "not used";
  if (step == allocator::SizeStep::large) return "over 8 MiB";
  if (step == allocator::SizeStep::m8) return "up to 8 MiB";
  if (step == allocator::SizeStep::m4) return "up to 4 MiB";
  return "up to " + format_size(16384ull << static_cast<int>(step));
}

// Stands for a refusal by a rung of a plugin policy. The rung's rules are unknown here.
constexpr auto kOwnReason = static_cast<Refusal>(UINT8_MAX);

std::string_view name_of(Refusal refusal) {
  if (refusal == kOwnReason) return "refused by the rung's own rule";
  switch (refusal) {
    case Refusal::none:
      return "good";
    case Refusal::corrupt:
      return "set aside as damaged";
    case Refusal::full:
      return "no free cluster";
    case Refusal::few_free:
      return "too few free clusters";
    case Refusal::not_loaded:
      return "buddy not loaded";
    case Refusal::flex_first:
      return "first of its flex group, not for data";
    case Refusal::low_order:
      return "no free chunk of the goal's order";
    case Refusal::low_average:
      return "average free extent too short";
  }
  return "";
}

// Why the rung refuses the group. The reasons of a plugin policy's rung are unknown here.
Refusal reason_of(const Search& search, const allocator::Rung& rung, const state::Group& group) {
  const Refusal refusal = allocator::refusal(search, rung, group);
  const bool asked = refusal == Refusal::low_average || refusal == Refusal::low_order ||
                     refusal == Refusal::flex_first;
  const bool ours = rung.good == allocator::good_cr0 || rung.good == allocator::good_average;
  return asked && !ours ? kOwnReason : refusal;
}

std::string state_of(const state::Group& group) {
  if (group.need_init) return fmt::format("{} free, not loaded", group.free);
  return fmt::format("{} free in {} extents, largest chunk of order {}", group.free,
                     group.fragments, static_cast<int>(group.largest_order));
}

}  // namespace

void Explanation::line(const std::string& text) {
  text_ += "  " + text + "\n";
}

void Explanation::begin(const Asked& one) {
  const Op& op = one.op;
  const allocator::Request& request = one.request;
  const Geometry& geometry = one.decider.state().geometry();
  text_ =
      fmt::format("decision {}: event {}, {:.6f} s, pid {}, inode {}\n", format_count(one.decision),
                  format_count(op.ordinal), static_cast<double>(op.time_ns) / 1e9, op.pid, op.ino);
  const std::uint32_t group =
      geometry.holds_block(request.goal) ? geometry.group_of(request.goal) : 0;
  line(fmt::format("asked    {} clusters at file block {}, goal block {} (group {}), flags {:#x}",
                   request.len, request.logical, request.goal, group, request.flags));
  if (request.left_block != 0)
    line(fmt::format("left     file block {} at block {}", request.left_logical,
                     request.left_block));
  if (request.right_block != 0)
    line(fmt::format("right    file block {} at block {}", request.right_logical,
                     request.right_block));
  const state::InodePreallocs* preallocs = one.decider.state().find_inode_preallocs(request.ino);
  if (preallocs == nullptr) return;
  for (const state::Prealloc& pa : preallocs->list)
    line(fmt::format("prealloc file block {} at block {}, {} clusters, {} left", pa.logical,
                     pa.block, pa.len, pa.free));
}

void Explanation::on_goal(const Search& search, const Extent& found, bool taken) {
  line(fmt::format("at goal  {}: {} of {} clusters free, {}", text_of(search.goal), found.len,
                   search.goal.len, taken ? "taken" : "refused"));
}

void Explanation::on_rung(const Search& search, const allocator::Rung& rung, std::uint32_t group) {
  flush_refused();
  line(fmt::format("{:<8} goal of {} clusters, from group {}", mb::criterion_name(rung.criterion),
                   search.goal.len, group));
}

void Explanation::on_group(const Search& search, const allocator::Rung& rung,
                           const state::Group& group) {
  const Refusal refusal = reason_of(search, rung, group);
  if (refusal == Refusal::none) {
    flush_refused();
    line(fmt::format("  group {}: {}: searched", group.number, state_of(group)));
    measured_ = 0;
    best_.clear();
    return;
  }
  if (refused_ > 0 && refusal != reason_) flush_refused();
  if (refused_++ == 0) first_refused_ = group.number;
  reason_ = refusal;
  last_refused_ = group.number;
  detail_ = state_of(group);
}

void Explanation::flush_refused() {
  if (refused_ == 1)
    line(fmt::format("  group {}: {}: {}", first_refused_, detail_, name_of(reason_)));
  else if (refused_ > 1)
    line(fmt::format("  {} groups, {} to {}: {}", format_count(refused_), first_refused_,
                     last_refused_, name_of(reason_)));
  refused_ = 0;
}

void Explanation::on_pass(std::uint32_t group, std::uint32_t count, std::uint32_t least) {
  flush_refused();
  line(fmt::format("  {} groups from {} on: fewer than {} free clusters", format_count(count),
                   group, least));
}

void Explanation::on_index(mb::Criterion criterion, std::uint32_t len,
                           std::optional<std::uint32_t> group) {
  flush_refused();
  const std::string_view name = mb::criterion_name(criterion);
  line(group ? fmt::format("  {} asks for {} clusters by order: group {}", name, len, *group)
             : fmt::format("  {} asks by order: no group", name));
}

void Explanation::on_extent(const Extent& extent, bool best) {
  shortest_ = measured_ == 0 ? extent.len : std::min(shortest_, extent.len);
  longest_ = measured_ == 0 ? extent.len : std::max(longest_, extent.len);
  ++measured_;
  if (best) best_ = fmt::format(", candidate {}/{}/{}", extent.group, extent.start, extent.len);
}

void Explanation::on_scan(const state::Group& group, std::uint32_t found) {
  (void)group;
  if (measured_ > 0)
    line(fmt::format("    {} extents of {} to {} clusters{}; {} in all", measured_, shortest_,
                     longest_, best_, found));
}

void Explanation::on_retry(bool discarded) {
  flush_refused();
  line(discarded ? "nothing: preallocations given back, searching again"
                 : "nothing, and no preallocation to give back");
}

void Explanation::end(const Decided& one) {
  const Op& op = one.op;
  const allocator::Decision& decision = one.own;
  flush_refused();
  if (!decision.prealloc)
    line(fmt::format("served   {}; file size {}", name_of(decision.inputs.mode),
                     name_of(decision.inputs.size)));
  line("model    " + describe(decision));
  if (op.closing.seen) line("kernel   " + describe(op.closing));
  if (one.forced) line("the kernel's result replaced the model's");
  if (op.race != Race::none) line(std::string(race_text(op.race)));
}

// Begins to explain the first request of a wanted decision.
void Explanations::asked(const Asked& one) {
  if (wanted_.erase(one.decision) == 0) return;
  writing_ = &written_[one.decision];
  writing_->begin(one);
  one.decider.observe(writing_);
}

bool Explanations::decided(const Decided& one) {
  if (writing_ == nullptr) return true;
  one.decider.observe(nullptr);
  writing_->end(one);
  writing_ = nullptr;
  return true;
}

std::string Explanations::text(std::uint64_t decision) const {
  const auto found = written_.find(decision);
  return found == written_.end() ? std::string() : found->second.text();
}

}  // namespace e4r::replay
