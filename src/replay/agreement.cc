// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/agreement.h"

#include <fmt/format.h>

namespace e4r::replay {
namespace {

bool same(const Extent& mine, const trace::RecordedExtent& theirs) {
  return mine.group == theirs.group && static_cast<std::int32_t>(mine.start) == theirs.start &&
         mine.len == theirs.len && mine.logical == theirs.logical;
}

struct Comparison {
  bool kind, orig, goal, block, length, logical, found, groups, criterion, flags, split;
  [[nodiscard]] bool all() const {
    return kind && orig && goal && block && length && logical && found && groups && criterion &&
           flags && split;
  }
};

Comparison compare(const Closing& c, const allocator::Decision& d) {
  Comparison r{};
  r.kind = c.prealloc == d.prealloc;
  r.orig = same(d.orig, c.orig);
  r.block = d.result.group == c.result.group &&
            static_cast<std::int32_t>(d.result.start) == c.result.start;
  r.length = d.result.len == c.result.len;
  r.logical = d.result.logical == c.result.logical;
  r.goal = r.found = r.groups = r.criterion = r.flags = r.split = true;
  if (c.prealloc) return r;
  r.goal = same(d.goal, c.goal) && (c.orig_goal_len == 0 || c.orig_goal_len == d.goal_len);
  r.found = (d.found & mb::recorded_bits) == (c.found & mb::recorded_bits);
  r.groups = (d.groups_scanned & mb::recorded_bits) == (c.groups & mb::recorded_bits);
  r.criterion = d.criterion == c.criterion;
  r.flags = (d.flags & mb::recorded_bits) == (c.flags & mb::recorded_bits);
  r.split = (d.tail & mb::recorded_bits) == c.tail && d.broken == c.broken;
  return r;
}

std::string differing(const Comparison& r) {
  std::string out;
  const auto add = [&](bool same, const char* name) {
    if (same) return;
    if (!out.empty()) out += ", ";
    out += name;
  };
  add(r.kind, "kind");
  add(r.orig, "request");
  add(r.goal, "goal");
  add(r.block, "block");
  add(r.length, "length");
  add(r.logical, "logical");
  add(r.found, "extents found");
  add(r.groups, "groups scanned");
  add(r.criterion, "criterion");
  add(r.flags, "flags");
  add(r.split, "chunk broken");
  return out;
}

// A start of -1, where there is none, is printed as the kernel does.
std::string text(const Extent& e) {
  return fmt::format("{}/{}/{}@{}", e.group, static_cast<std::int32_t>(e.start), e.len, e.logical);
}
// What a rung has taken off the goal: " of 512", or nothing.
std::string untrimmed(std::uint32_t goal_len, std::uint32_t trimmed_len) {
  return goal_len == 0 || goal_len == trimmed_len ? "" : fmt::format(" of {}", goal_len);
}
std::string text(const trace::RecordedExtent& e) {
  return fmt::format("{}/{}/{}@{}", e.group, e.start, e.len, e.logical);
}

}  // namespace

std::string describe(const allocator::Decision& d) {
  if (d.prealloc) return fmt::format("prealloc orig {} result {}", text(d.orig), text(d.result));
  return fmt::format(
      "alloc orig {} goal {}{} result {} blks {} grps {} {} flags {:#x} tail {} broken {}",
      text(d.orig), text(d.goal), untrimmed(d.goal_len, d.goal.len), text(d.result),
      d.found & mb::recorded_bits, d.groups_scanned & mb::recorded_bits,
      mb::criterion_name(d.criterion), d.flags & mb::recorded_bits, d.tail, d.broken);
}

std::string describe(const Closing& c) {
  if (c.prealloc) return fmt::format("prealloc orig {} result {}", text(c.orig), text(c.result));
  return fmt::format(
      "alloc orig {} goal {}{} result {} blks {} grps {} {} flags {:#x} tail {} broken {}",
      text(c.orig), text(c.goal), untrimmed(c.orig_goal_len, c.goal.len), text(c.result), c.found,
      c.groups, mb::criterion_name(c.criterion), c.flags & mb::recorded_bits, c.tail, c.broken);
}

bool Agreement::count(const Op& op, const allocator::Decision& decision, bool was_forced) {
  ++requests;
  const bool stream = !op.closing.prealloc && (op.closing.flags & mb::stream_alloc) != 0;
  const Race race = stream && stream_goal_in_doubt_ ? Race::allocator : op.race;
  if (stream) stream_goal_in_doubt_ = op.race == Race::allocator;
  forced += was_forced ? 1 : 0;
  const Comparison r = compare(op.closing, decision);
  same_block += r.block ? 1 : 0;
  same_length += r.length ? 1 : 0;
  same_criterion += r.criterion && r.kind ? 1 : 0;
  same_found += r.found && r.kind ? 1 : 0;
  same_groups_scanned += r.groups && r.kind ? 1 : 0;
  if (r.all() && !was_forced) {
    ++identical;
    skips += decision.inputs.passed_over != allocator::kNoGroup ? 1 : 0;
    late += op.late ? 1 : 0;
    course.at(requests).join({1, 1});
    return true;
  }
  Comparison but_criterion = r;
  but_criterion.criterion = true;
  if (!was_forced && op.closing.criterion == mb::Criterion::unknown && but_criterion.all())
    ++nameless;
  std::string fields = differing(r);
  diverge(op, race, fields.empty() ? "block" : std::move(fields), describe(decision));
  return false;
}

void Agreement::count_not_taken(const Op& op) {
  ++requests;
  diverge(op, op.race, "kind", "no request: an earlier one has served this range");
}

void Agreement::diverge(const Op& op, Race race, std::string fields, std::string modelled) {
  races += race == Race::none ? 0 : 1;
  course.at(requests).join({1, 0});
  last_divergence = requests;
  if (divergences.size() == kListed) return;
  divergences.push_back({requests, op.ordinal, op.time_ns, op.pid, op.ino, race, std::move(fields),
                         describe(op.closing), std::move(modelled)});
}

}  // namespace e4r::replay
