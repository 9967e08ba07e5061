// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/mb_files.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "util/text.h"

namespace e4r::stats {
namespace {

using state::MbGroup;

using allocator::Counters;

// The name that Linux 6.1 uses for the section, even if another kernel printed it.
std::string section_name(std::string_view name) {
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    if (!row.section_6_5.empty() && row.section_6_5 == name) return std::string(row.section);
  return std::string(name);
}

bool has_rung(const allocator::Policy& policy, mb::Criterion criterion) {
  return std::any_of(policy.ladder.begin(), policy.ladder.end(),
                     [&](const allocator::Rung& rung) { return rung.criterion == criterion; });
}

// The lines of a text, without newlines.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const auto end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    return true;
  }

 private:
  std::string_view rest_;
};

// Removes a number from the front of `text`, after leading blanks.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return std::nullopt;
  text.remove_prefix(from);
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, char c) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos || text[from] != c) return false;
  text.remove_prefix(from + 1);
  return true;
}

// Parses "#0    : 1234  5     6     [ 1 2 ... ]". Lustre's kernels print free clusters twice, from
// the buddy and from the descriptor, and the number of preallocations after the first free cluster:
// "#0    : 1234  1300  5     6     2     [ 1 2 ... ]".
std::optional<MbGroup> parse_group(std::string_view line) {
  MbGroup group;
  if (!take(line, '#')) return std::nullopt;
  const auto number = take_number(line);
  if (!number || !take(line, ':')) return std::nullopt;
  std::array<std::uint32_t, 5> columns = {};
  std::size_t count = 0;
  for (; count < columns.size(); ++count) {
    const auto column = take_number(line);
    if (!column) break;
    columns[count] = static_cast<std::uint32_t>(*column);
  }
  if ((count != 3 && count != 5) || !take(line, '[')) return std::nullopt;
  const std::size_t second_free = count > 3 ? 1 : 0;
  group.number = static_cast<std::uint32_t>(*number);
  group.free = columns[0];
  group.fragments = columns[1 + second_free];
  group.first_free = columns[2 + second_free];
  group.printed = 0;
  while (const auto counter = take_number(line)) {
    if (group.printed < MbGroup::kOrders)
      group.counters[group.printed] = static_cast<std::uint32_t>(*counter);
    ++group.printed;
  }
  return group;
}

// Describes how the kernel's line differs from the state; empty if it does not.
template <class Group>
std::string difference(const MbGroup& kernel, const Group& group) {
  const auto say = [&](std::string_view what, std::uint64_t theirs, std::uint64_t ours) {
    return fmt::format("group {}: {} {}, replay {}", kernel.number, what, theirs, ours);
  };
  if (kernel.free != group.free) return say("free clusters", kernel.free, group.free);
  if (kernel.fragments != group.fragments)
    return say("free extents", kernel.fragments, group.fragments);
  if (kernel.first_free != group.first_free)
    return say("first free cluster", kernel.first_free, group.first_free);
  if (kernel.printed != MbGroup::kOrders)
    return say("counters in the line", kernel.printed, MbGroup::kOrders);
  for (std::size_t order = 0; order < kernel.counters.size(); ++order) {
    const std::uint32_t ours = order < group.counters.size() ? group.counters[order] : 0;
    if (kernel.counters[order] != ours)
      return say(fmt::format("chunks of order {}", order), kernel.counters[order], ours);
  }
  return {};
}

using Count = KnownCounters::Count;
using PerCriterion = KnownCounters::PerCriterion;

// A counter: the kernel's name, and the members that hold the known value and the model's value.
template <class Known, class Model>
struct Named {
  std::string_view name;
  Count Known::*member;
  std::uint64_t Model::*modelled;
  bool later = false;  // only kernels later than Linux 6.1 print it
};
using OfAll = Named<KnownCounters, Counters>;
using OfCriterion = Named<PerCriterion, Counters::PerCriterion>;

// Three lists in the order of ext4_seq_mb_stats_show(), Linux 6.1 and 7.3: the counters before the
// sections of the criteria, the counters in each section, and the counters after the sections.
constexpr auto kBefore = std::to_array<OfAll>({
    {"reqs", &KnownCounters::requests, &Counters::requests},
    {"success", &KnownCounters::success, &Counters::success},
    {"groups_scanned", &KnownCounters::groups_scanned, &Counters::groups_scanned},
});
constexpr auto kOfSection = std::to_array<OfCriterion>({
    {"hits", &PerCriterion::hits, &Counters::PerCriterion::hits},
    {"groups_considered", &PerCriterion::groups_considered,
     &Counters::PerCriterion::groups_considered},
    {"extents_scanned", &PerCriterion::extents_scanned, &Counters::PerCriterion::extents_scanned,
     true},
    {"useless_loops", &PerCriterion::useless_loops, &Counters::PerCriterion::useless_loops},
    {"bad_suggestions", &PerCriterion::bad_suggestions, &Counters::PerCriterion::bad_suggestions},
});
constexpr auto kBehind = std::to_array<OfAll>({
    {"extents_scanned", &KnownCounters::extents_scanned, &Counters::extents_scanned},
    {"goal_hits", &KnownCounters::goal_hits, &Counters::goal_hits},
    {"stream_goal_hits", &KnownCounters::stream_goal_hits, &Counters::stream_goal_hits},
    {"len_goal_hits", &KnownCounters::len_goal_hits, &Counters::len_goal_hits, true},
    {"2^n_hits", &KnownCounters::order2_hits, &Counters::order2_hits},
    {"breaks", &KnownCounters::breaks, &Counters::breaks},
    {"lost", &KnownCounters::lost, &Counters::lost},
    {"buddies_generated", &KnownCounters::buddies_generated, &Counters::buddies_generated},
    {"preallocated", &KnownCounters::preallocated, &Counters::preallocated},
    {"discarded", &KnownCounters::discarded, &Counters::discarded},
});

// Calls each(name, counter, later) for all counters that mb_stats can have, in the kernel's order.
template <class Known, class Each>
void for_each_counter(Known&& counters, Each each) {
  for (const OfAll& of : kBefore) each(of.name, counters.*of.member, of.later);
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    for (const OfCriterion& of : kOfSection)
      each(fmt::format("{}/{}", row.section, of.name), counters[row.criterion].*of.member,
           of.later);
  for (const OfAll& of : kBehind) each(of.name, counters.*of.member, of.later);
}

std::optional<std::uint64_t> find_stat(const std::vector<MbStat>& stats, std::string_view name) {
  const auto found = std::ranges::find(stats, name, &MbStat::name);
  return found == stats.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace

Count KnownCounters::groups_considered() const {
  Count total;
  for (const PerCriterion& of : by_criterion)
    if (of.groups_considered) total = total.value_or(0) + *of.groups_considered;
  return total;
}

namespace {

// Calls change(ours, theirs) for each counter.
template <class Change>
void change_each(KnownCounters& ours, const KnownCounters& other, const Change& change) {
  std::vector<Count> theirs;
  for_each_counter(other, [&](auto&&, const Count& count, bool) { theirs.push_back(count); });
  std::size_t at = 0;
  for_each_counter(ours, [&](auto&&, Count& count, bool) { change(count, theirs[at++]); });
  change(ours[mb::Criterion::past_last].hits, other[mb::Criterion::past_last].hits);
}

}  // namespace

void KnownCounters::add_missing(const KnownCounters& other) {
  change_each(*this, other, [](Count& ours, const Count& theirs) {
    if (!ours) ours = theirs;
  });
}

void KnownCounters::subtract(const KnownCounters& other) {
  change_each(*this, other, [](Count& ours, const Count& theirs) {
    if (ours && theirs) *ours -= std::min(*ours, *theirs);
  });
}

KnownCounters known_counters(const Counters& c) {
  KnownCounters out;
  if (!c.complete) {
    out.requests = c.requests;
    out.groups_scanned = c.groups_scanned;
    out.extents_scanned = c.extents_scanned;
    for (std::size_t i = 0; i < out.by_criterion.size(); ++i)
      out.by_criterion[i].hits = c.by_criterion[i].hits;
    return out;
  }
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    for (const OfCriterion& of : kOfSection)
      out[row.criterion].*of.member = c[row.criterion].*of.modelled;
  out[mb::Criterion::past_last].hits = c[mb::Criterion::past_last].hits;
  for (const OfAll& of : kBefore) out.*of.member = c.*of.modelled;
  for (const OfAll& of : kBehind) out.*of.member = c.*of.modelled;
  return out;
}

KnownCounters known_counters(const allocator::Policy& policy, const Counters& c) {
  using allocator::StatNames;
  const StatNames names = policy.kernel.stats;
  const bool suggestions = names == StatNames::v6_1 || names == StatNames::v6_5;
  KnownCounters out = known_counters(c);
  for (const mb::CriterionRow& row : mb::ladder_criteria()) {
    if (!has_rung(policy, row.criterion)) out[row.criterion] = {};
    if (!row.suggests || !suggestions) out[row.criterion].bad_suggestions.reset();
  }
  if (names != StatNames::v6_17) out.stream_goal_hits.reset();
  return out;
}

KnownCounters known_counters(const allocator::Policy& policy, const replay::ClosingCounts& c) {
  KnownCounters out;
  out.requests = c.requests;
  out.success = c.success;
  out.groups_scanned = c.groups_scanned;
  out.extents_scanned = c.extents_scanned;
  out.goal_hits = c.goal_hits;
  if (c.goals_hidden == 0) out.len_goal_hits = c.len_goal_hits;
  if (c.nameless > 0) return out;
  const auto hits = [&c](mb::Criterion criterion) {
    return c.hits[static_cast<std::size_t>(criterion)];
  };
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    if (hits(row.criterion) > 0 || has_rung(policy, row.criterion))
      out[row.criterion].hits = hits(row.criterion);
  out[mb::Criterion::past_last].hits = hits(mb::Criterion::past_last);
  return out;
}

KnownCounters known_counters(const std::vector<MbStat>& stats) {
  KnownCounters out;
  for_each_counter(
      out, [&](std::string_view name, Count& count, bool) { count = find_stat(stats, name); });
  return out;
}

std::vector<MbStat> mb_stats(const allocator::Policy& policy, const Counters& c) {
  const bool v6_1 = policy.kernel.stats == allocator::StatNames::v6_1;
  std::vector<MbStat> out;
  for_each_counter(
      known_counters(policy, c), [&](std::string_view name, const Count& count, bool later) {
        // Kernels before 5.13 only scan the groups linearly and do not print this counter.
        const bool suggestions = policy.walk_only && name.ends_with("/bad_suggestions");
        if (count) out.push_back({std::string(name), *count, (later && v6_1) || suggestions});
      });
  for (const mb::CriterionRow& row : mb::ladder_criteria()) {
    const std::string considered = fmt::format("{}/groups_considered", row.section);
    const auto found = std::ranges::find(out, considered, &MbStat::name);
    if (found != out.end()) found->open = c[row.criterion].passed_over;
  }
  return out;
}

namespace {

// Returns the number of columns before the first letter of a line. A '>' counts as a column,
// because quoted mail begins lines with it.
std::size_t indentation(std::string_view line) {
  constexpr std::size_t kTab = 8;
  std::size_t column = 0;
  for (const char c : line) {
    if (c == '\t')
      column += kTab - column % kTab;
    else if (c == ' ' || c == '>')
      ++column;
    else
      break;
  }
  return column;
}

// Returns the position of a counter in a section, counted from 1, or 0 if the section does not have
// it.
std::size_t place_in_section(std::string_view name) {
  const auto found = std::ranges::find(kOfSection, name, &OfCriterion::name);
  return found == kOfSection.end() ? 0 : static_cast<std::size_t>(found - kOfSection.begin()) + 1;
}

// Decides which lines belong to the section before them: lines with deeper indentation. If the text
// has lost all indentation, the counters' names and their order decide.
class Section {
 public:
  void begin(std::string_view name, std::size_t indent) {
    name_ = section_name(name) + "/";
    indent_ = indent;
    last_ = 0;
  }
  // Returns the prefix for a counter's name.
  const std::string& of(std::string_view counter, std::size_t indent, bool flat) {
    const std::size_t place = place_in_section(counter);
    const bool within = flat ? place > last_ : indent > indent_;
    if (!within) name_.clear();
    last_ = place;
    return name_;
  }

 private:
  std::string name_;
  std::size_t indent_ = 0;
  std::size_t last_ = 0;
};

// A line "NAME: VALUE", or "NAME:", which begins a section.
struct StatLine {
  std::size_t indent = 0;
  std::string_view name;
  std::optional<std::uint64_t> value;
};

Result<std::vector<StatLine>> stat_lines(std::string_view text) {
  std::vector<StatLine> out;
  bool header = false;
  std::string_view line;
  for (Lines lines(text); lines.next(line);) {
    const std::size_t indent = indentation(line);
    const std::string_view words =
        trim(line.substr(std::min(line.find_first_not_of("> \t"), line.size())));
    if (words.find("): mballoc: ") != std::string_view::npos)
      return error(
          "this is what the kernel logs at unmount: give the text of /proc/fs/ext4/DEV/mb_stats");
    header |= words.starts_with("mballoc:");
    const auto colon = words.rfind(':');
    if (words.starts_with("mballoc:") || colon == std::string_view::npos || colon == 0) continue;
    std::string_view rest = words.substr(colon + 1);
    out.push_back({indent, words.substr(0, colon), take_number(rest)});
  }
  if (!header || out.empty())
    return error("this is not mb_stats: it should begin with 'mballoc:' and list counters");
  return out;
}

bool any_known(const std::vector<MbStat>& stats) {
  bool out = false;
  const KnownCounters known = known_counters(stats);
  for_each_counter(known, [&](auto&&, const Count& count, bool) { out = out || count; });
  return out;
}

}  // namespace

bool stats_were_off(std::string_view text) {
  return text.find("mb stats collection turned off") != std::string_view::npos;
}

Result<std::vector<MbStat>> parse_mb_stats(std::string_view text) {
  if (stats_were_off(text))
    return error(
        "says that the kernel did not count: write 1 to /sys/fs/ext4/DEV/mb_stats before the "
        "recording");
  E4R_TRY(const std::vector<StatLine> lines, stat_lines(text));
  const auto differs = [&](const StatLine& line) { return line.indent != lines.front().indent; };
  const bool flat = std::ranges::none_of(lines, differs);
  std::vector<MbStat> out;
  Section section;
  for (const StatLine& line : lines) {
    if (line.value)
      out.push_back(
          {section.of(line.name, line.indent, flat) + std::string(line.name), *line.value});
    else
      section.begin(line.name, line.indent);
  }
  if (!any_known(out)) return error("this is not mb_stats: it has none of the kernel's counters");
  return out;
}

MbStatsComparison compare_mb_stats(const std::vector<MbStat>& kernel,
                                   const std::vector<MbStat>& replay) {
  MbStatsComparison out;
  for (const MbStat& theirs : kernel) {
    const auto ours = std::find_if(replay.begin(), replay.end(),
                                   [&](const MbStat& s) { return s.name == theirs.name; });
    if (ours == replay.end()) {
      out.not_modelled.push_back(theirs.name);
      continue;
    }
    ++out.compared;
    if (ours->value == theirs.value && ours->open == 0) continue;
    if (ours->value <= theirs.value && theirs.value - ours->value <= ours->open)
      out.open.push_back(fmt::format("{}: kernel {}, replay {} to {}", theirs.name, theirs.value,
                                     ours->value, ours->value + ours->open));
    else
      out.differing.push_back(
          fmt::format("{}: kernel {}, replay {}", theirs.name, theirs.value, ours->value));
  }
  for (const MbStat& ours : replay)
    if (!ours.later && std::ranges::none_of(
                           kernel, [&](const MbStat& theirs) { return theirs.name == ours.name; }))
      out.missing.push_back(ours.name);
  return out;
}

Result<std::vector<MbGroup>> parse_mb_groups(std::string_view text) {
  std::vector<MbGroup> out;
  std::string_view line;
  for (Lines lines(text); lines.next(line);)
    if (auto group = parse_group(line)) out.push_back(*group);
  if (out.empty())
    return error("this is not mb_groups: it should have lines like '#0 : 1234 5 6 [ 1 2 ... ]'");
  return out;
}

namespace {

// `ours(number)` returns the replay's group with that number, which is below `count`, in a type
// that difference() accepts.
template <class Ours>
MbGroupsComparison compare_groups(const std::vector<MbGroup>& kernel, std::uint32_t count,
                                  const Ours& ours) {
  MbGroupsComparison out;
  const auto differs = [&](std::string what) {
    if (out.differing++ == 0) out.first = std::move(what);
  };
  std::vector<bool> seen(count, false);
  for (const MbGroup& group : kernel) {
    ++out.compared;
    if (group.number >= count) {
      differs(fmt::format("group {}: the image has {} groups", group.number, count));
      continue;
    }
    std::string what = difference(group, ours(group.number));
    if (what.empty() && seen[group.number]) what = fmt::format("group {}: twice", group.number);
    if (!what.empty()) differs(std::move(what));
    seen[group.number] = true;
  }
  for (std::uint32_t number = 0; number < count; ++number) {
    if (seen[number]) continue;
    ++out.compared;
    differs(fmt::format("group {}: the kernel's text lacks it", number));
  }
  return out;
}

}  // namespace

MbGroupsComparison compare_mb_groups(const std::vector<MbGroup>& kernel,
                                     const state::FsState& state) {
  return compare_groups(
      kernel, state.group_count(),
      [&](std::uint32_t number) -> const state::Group& { return state.group(number); });
}

std::string describe_difference(const MbGroup& kernel, const state::Group& group) {
  return difference(kernel, group);
}

MbGroupsComparison compare_mb_groups(const std::vector<MbGroup>& kernel,
                                     const std::vector<MbGroup>& replay) {
  std::vector<MbGroup> ours(replay.size());
  for (const MbGroup& group : replay)
    if (group.number < ours.size()) ours[group.number] = group;
  return compare_groups(kernel, static_cast<std::uint32_t>(ours.size()),
                        [&](std::uint32_t number) -> const MbGroup& { return ours[number]; });
}

}  // namespace e4r::stats
