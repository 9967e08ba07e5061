// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/agreement.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace e4r::replay {
namespace {

bool same(const Extent& mine, const trace::RecordedExtent& theirs) {
  return mine.group == theirs.group && static_cast<std::int32_t>(mine.start) == theirs.start &&
         mine.len == theirs.len && mine.logical == theirs.logical;
}

// The parts of a decision that can differ, in the order in which names() lists them.
enum Part : unsigned {
  kKind,
  kRequest,
  kGoal,
  kBlock,
  kLength,
  kLogical,
  kFound,
  kGroups,
  kCriterion,
  kFlags,
  kSplit
};
constexpr std::array<std::string_view, kSplit + 1> kPartNames = {
    "kind",          "request",        "goal",      "block", "length",      "logical",
    "extents found", "groups scanned", "criterion", "flags", "chunk broken"};

// The set of parts in which a decision differs from the recorded one, one bit for each part.
class Differences {
 public:
  Differences(const Closing& c, const allocator::Decision& d) {
    compare(kKind, c.prealloc == d.prealloc);
    compare(kRequest, same(d.orig, c.orig));
    compare(kBlock, d.result.group == c.result.group &&
                        static_cast<std::int32_t>(d.result.start) == c.result.start);
    compare(kLength, d.result.len == c.result.len);
    compare(kLogical, d.result.logical == c.result.logical);
    if (c.prealloc) return;
    compare(kGoal, same(d.goal, c.goal) && (c.orig_goal_len == 0 || c.orig_goal_len == d.goal_len));
    compare(kFound, (d.found & mb::recorded_bits) == (c.found & mb::recorded_bits));
    compare(kGroups, (d.groups_scanned & mb::recorded_bits) == (c.groups & mb::recorded_bits));
    compare(kCriterion, d.criterion == c.criterion);
    compare(kFlags, (d.flags & mb::recorded_bits) == (c.flags & mb::recorded_bits));
    compare(kSplit, (d.tail & mb::recorded_bits) == c.tail && d.broken == c.broken);
  }

  [[nodiscard]] bool none() const { return bits_ == 0; }
  [[nodiscard]] bool has(Part part) const { return (bits_ >> part & 1) != 0; }
  [[nodiscard]] bool none_but(Part part) const { return (bits_ & ~(1u << part)) == 0; }
  // The names of the parts, comma-separated.
  [[nodiscard]] std::string names() const {
    std::string out;
    for (unsigned part = 0; part < kPartNames.size(); ++part) {
      if (!has(static_cast<Part>(part))) continue;
      if (!out.empty()) out += ", ";
      out += kPartNames[part];
    }
    return out;
  }

 private:
  void compare(Part part, bool is_same) { bits_ |= static_cast<unsigned>(!is_same) << part; }

  unsigned bits_ = 0;
};

// Prints an extent as the kernel does: with start -1 if it has no start.
std::string text(const Extent& e) {
  return fmt::format("{}/{}/{}@{}", e.group, static_cast<std::int32_t>(e.start), e.len, e.logical);
}
// The length of a goal before a rung trimmed it, as " of 512"; empty if it was not trimmed.
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
  const Differences differ(op.closing, decision);
  const bool same_kind = !differ.has(kKind);
  same_block += differ.has(kBlock) ? 0 : 1;
  same_length += differ.has(kLength) ? 0 : 1;
  same_criterion += same_kind && !differ.has(kCriterion) ? 1 : 0;
  same_found += same_kind && !differ.has(kFound) ? 1 : 0;
  same_groups_scanned += same_kind && !differ.has(kGroups) ? 1 : 0;
  if (differ.none() && !was_forced) {
    ++identical;
    skips += decision.inputs.passed_over.empty() ? 0 : 1;
    late += op.scheduled ? 1 : 0;
    earlier += op.sees_earlier ? 1 : 0;
    course.at(requests).join({1, 1});
    return true;
  }
  if (!was_forced && op.closing.criterion == mb::Criterion::unknown && differ.none_but(kCriterion))
    ++nameless;
  std::string fields = differ.names();
  diverge(op, race, fields.empty() ? "block" : std::move(fields), describe(decision));
  return false;
}

void Agreement::count_not_taken(const Op& op) {
  ++requests;
  diverge(op, op.race, "kind", "no request: an earlier request has served this range");
}

void Agreement::diverge(const Op& op, Race race, std::string fields, std::string modelled) {
  races += race == Race::none ? 0 : 1;
  course.at(requests).join({1, 0});
  last_divergence = requests;
  if (divergences.size() == kListed) return;
  divergences.push_back({requests, op.ordinal, op.time_ns, op.pid, op.ino, race, std::move(fields),
                         describe(op.closing), std::move(modelled), op.closing.result.group});
}

}  // namespace e4r::replay
