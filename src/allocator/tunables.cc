// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/tunables.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cctype>
#include <limits>
#include <mutex>
#include <optional>

#include "allocator/policy.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::allocator {
namespace {

constexpr std::uint64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

// Whether a rung of the policy reads the tunable. Used for tunables that nothing else reads.
template <std::uint64_t Tunables::*kMember>
bool rung_reads(const Policy& policy) {
  return std::any_of(policy.ladder.begin(), policy.ladder.end(),
                     [](const Rung& rung) { return rung.tunable == kMember; });
}

bool searches_lists(const Policy& policy) {
  return !policy.walk_only;
}

bool trims_preallocations(const Policy& policy) {
  return policy.kernel.preallocs.kept == PreallocRules::Kept::by_use;
}

bool has_stream_goals_by_inode(const Policy& policy) {
  return policy.kernel.stream.by_inode && policy.kernel.start.keeps_streams();
}

bool forces_alignment(const Policy& policy) {
  return policy.kernel.align.forced;
}

constexpr std::array kTable = {
    TunableInfo{"mb_max_to_scan", &Tunables::mb_max_to_scan, kMaxInt,
                "extents to examine before the best one is taken"},
    TunableInfo{"mb_min_to_scan", &Tunables::mb_min_to_scan, kMaxInt,
                "extents to examine once one is long enough"},
    TunableInfo{"mb_stream_req", &Tunables::mb_stream_req, kMaxInt,
                "largest file, in blocks, that shares its CPU's group preallocation"},
    TunableInfo{"mb_group_prealloc", &Tunables::mb_group_prealloc, kMaxInt,
                "goal of a group preallocation, in clusters; 0 turns them off"},
    TunableInfo{"mb_max_inode_prealloc", &Tunables::mb_max_inode_prealloc, kMaxInt,
                "preallocations an inode may keep before the oldest go", trims_preallocations},
    TunableInfo{"mb_max_linear_groups", &Tunables::mb_max_linear_groups, kMaxInt,
                "groups to scan before the order lists are used (0 on flash, 4 on disks)",
                searches_lists},
    TunableInfo{"mb_order2_req", &Tunables::mb_order2_req, 64,
                "smallest order that is searched by the buddy (CR0)"},
    TunableInfo{"mb_prefetch", &Tunables::mb_prefetch, kMaxInt, "bitmaps to read ahead at once"},
    TunableInfo{"mb_prefetch_limit", &Tunables::mb_prefetch_limit, kMaxInt,
                "bitmap reads one search may start in CR0 and CR1"},
    TunableInfo{"mb_stripe", &Tunables::mb_stripe, kMaxInt, "stripe, in blocks; 0 disables it"},
    TunableInfo{"mb_optimize_scan", &Tunables::mb_optimize_scan, 1,
                "1: CR0 and CR1 search order lists; 0: they walk the groups", searches_lists},
    TunableInfo{"mb_cr1_5_max_trim_order", &Tunables::mb_cr1_5_max_trim_order, 64,
                "orders that CR1.5 may take off the goal length",
                rung_reads<&Tunables::mb_cr1_5_max_trim_order>},
    TunableInfo{"mb_best_avail_max_trim_order", &Tunables::mb_best_avail_max_trim_order, 64,
                "orders that best-avail may take off the goal length (6.5 and later)",
                rung_reads<&Tunables::mb_best_avail_max_trim_order>},
    TunableInfo{.name = "extsize",
                .member = &Tunables::extsize,
                .max = 16384,
                .meaning = "blocks to which files are aligned, a power of two (16 KiB); 0: none",
                .read_by = forces_alignment,
                .power_of_two = true},
    TunableInfo{"extsize_every", &Tunables::extsize_every, kMaxInt,
                "files with an extsize: inode numbers that are multiples of it (1: all)",
                forces_alignment},
    TunableInfo{"extsize_trim", &Tunables::extsize_trim, 1,
                "1: when no aligned extent of the normalised goal is free, look for the request's",
                forces_alignment},
    TunableInfo{
        "possible_cpus", &Tunables::possible_cpus, 8192,
        "number of possible CPUs, and so of stream goals (6.17 and later); 0: unknown, one goal",
        has_stream_goals_by_inode},
};

constexpr std::array kOwnMembers = {&Tunables::own_1, &Tunables::own_2, &Tunables::own_3,
                                    &Tunables::own_4, &Tunables::own_5, &Tunables::own_6,
                                    &Tunables::own_7, &Tunables::own_8};

// The fixed rows, followed by the rows that plugin policies added. Rows are never removed, so a
// reader may keep a pointer to one.
struct Table {
  Table() { std::copy(kTable.begin(), kTable.end(), rows.begin()); }
  std::mutex adding;
  std::array<TunableInfo, kTable.size() + kOwnMembers.size()> rows = {};
  std::array<std::array<std::string, 2>, kOwnMembers.size()> texts;
  std::atomic<std::size_t> count = kTable.size();
};

Table& table() {
  static Table all;
  return all;
}

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
  });
}

std::string known_names() {
  std::string names;
  for (const TunableInfo& info : tunable_table()) {
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

// The value of an option such as "stripe=" in a line from /proc/mounts.
std::optional<std::uint64_t> mount_option(std::string_view line, std::string_view name) {
  const auto at = line.find(name);
  if (at == std::string_view::npos || at == 0 || (line[at - 1] != ',' && line[at - 1] != ' '))
    return std::nullopt;
  const std::string_view rest = line.substr(at + name.size());
  const auto value = parse_u64(rest.substr(0, rest.find_first_of(", ")));
  return value.ok() ? std::optional(*value) : std::nullopt;
}

std::size_t read_mount_line(Tunables& tunables, std::string_view line) {
  std::size_t taken = 0;
  if (const auto scan = mount_option(line, "mb_optimize_scan=")) {
    tunables.mb_optimize_scan = *scan != 0 ? 1 : 0;
    ++taken;
  }
  if (const auto stripe = mount_option(line, "stripe="); stripe && *stripe <= kMaxInt) {
    tunables.mb_stripe = *stripe;
    ++taken;
  }
  return taken;
}

}  // namespace

std::size_t read_recorded_tunables(Tunables& tunables, std::string_view text) {
  std::size_t taken = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.find(" ext4 ") != std::string_view::npos) {
      taken += read_mount_line(tunables, line);
      continue;
    }
    const auto mark = line.find_first_of(":=");
    if (mark == std::string_view::npos) continue;
    const std::string assignment =
        fmt::format("{}={}", line.substr(0, mark), line.substr(mark + 1));
    if ((line.starts_with("mb_") || line.starts_with("possible_cpus:")) &&
        set_tunable(tunables, assignment).ok())
      ++taken;
  }
  return taken;
}

std::span<const TunableInfo> tunable_table() {
  return std::span(table().rows).first(table().count);
}

const TunableInfo* find_tunable(std::string_view name) {
  for (const TunableInfo& info : tunable_table())
    if (info.name == name) return &info;
  return nullptr;
}

const TunableInfo* find_tunable(std::uint64_t Tunables::*member) {
  for (const TunableInfo& info : tunable_table())
    if (info.member == member) return &info;
  return nullptr;
}

Result<const TunableInfo*> add_own_tunable(std::string_view name, std::string_view meaning,
                                           std::uint64_t fallback, std::uint64_t max) {
  if (!is_name(name))
    return error("the tunable's name '{}' must consist of lower-case letters, digits and '_'",
                 name);
  if (meaning.empty() || meaning.find('\n') != std::string_view::npos)
    return error("the tunable {} needs a description of one line", name);
  if (fallback > max || max == Tunables::kUnset)
    return error("the tunable {} has a default of {}, but its maximum is {}", name, fallback, max);
  Table& all = table();
  const std::lock_guard lock(all.adding);
  if (const TunableInfo* known = find_tunable(name)) {
    if (known->own && known->meaning == meaning && known->fallback == fallback && known->max == max)
      return known;
    return error("there is another tunable {} already", name);
  }
  const std::size_t count = all.count;
  if (count == all.rows.size())
    return error("the tunable {} is one too many: policies from files have {} already", name,
                 kOwnMembers.size());
  const std::size_t own = count - kTable.size();
  auto& [kept_name, kept_meaning] = all.texts[own];
  kept_name = name;
  kept_meaning = meaning;
  all.rows[count] = {kept_name, kOwnMembers[own], max,  kept_meaning, nullptr,
                     true,      fallback,         false};
  all.count = count + 1;
  return &all.rows[count];
}

bool has_tunable(const Policy& policy, const TunableInfo& tunable) {
  if (tunable.own)
    return std::find(policy.own_tunables.begin(), policy.own_tunables.end(), tunable.member) !=
           policy.own_tunables.end();
  return tunable.read_by == nullptr || tunable.read_by(policy);
}

Tunables defaults_for(const state::MountedGeometry& geometry) {
  Tunables t;
  t.mb_stripe = geometry.stripe;
  t.mb_group_prealloc = std::max<std::uint64_t>(512u >> geometry.cluster_bits, 32);
  if (t.mb_stripe > 1)
    t.mb_group_prealloc = (t.mb_group_prealloc + t.mb_stripe - 1) / t.mb_stripe * t.mb_stripe;
  // One read fetches the bitmaps of a flex group, unless that exceeds the largest I/O request.
  constexpr std::uint64_t kMaxSegment = 65536;
  t.mb_prefetch = geometry.flex_bg
                      ? 8 * std::min<std::uint64_t>(geometry.flex_size(),
                                                    kMaxSegment >> (geometry.block_bits - 9))
                      : 32;
  t.mb_prefetch = std::min<std::uint64_t>(t.mb_prefetch, geometry.groups);
  t.mb_prefetch_limit = std::min<std::uint64_t>(t.mb_prefetch * 4, geometry.groups);
  constexpr std::uint32_t kOptimizeFrom = 16;  // groups
  t.mb_optimize_scan = geometry.groups >= kOptimizeFrom ? 1 : 0;
  constexpr std::uint64_t kExtsizeBytes = 16384;
  t.extsize = std::max<std::uint64_t>(kExtsizeBytes >> geometry.block_bits, 1);
  return t;
}

Tunables with_mount_of(const Tunables& mounted, Tunables now) {
  now.mb_stripe = mounted.mb_stripe;
  now.mb_optimize_scan = mounted.mb_optimize_scan;
  now.possible_cpus = mounted.possible_cpus;
  return now;
}

std::uint32_t prefetch_batch(const Tunables& tunables, const Geometry& geometry,
                             std::uint32_t group) {
  const auto count = static_cast<std::uint32_t>(tunables.mb_prefetch);
  if (!geometry.flex_bg) return count;
  const std::uint32_t flex = geometry.flex_size();
  return std::min(flex - (group & (flex - 1)), count);
}

ReadBatch read_batch(const Tunables& tunables, const Geometry& geometry, std::uint32_t group) {
  const std::uint64_t batch = std::max<std::uint64_t>(tunables.mb_prefetch, 1);
  const std::uint64_t first = group / batch * batch;
  return {static_cast<std::uint32_t>(first),
          static_cast<std::uint32_t>(std::min<std::uint64_t>(first + batch, geometry.groups))};
}

Status check_value(const TunableInfo& info, std::uint64_t value) {
  if (value > info.max) return error("{}: {} is more than {}", info.name, value, info.max);
  if (info.power_of_two && value != 0 && !std::has_single_bit(value))
    return error("{}: {} is not a power of two: give one, such as 4", info.name, value);
  return {};
}

Status set_tunable(Tunables& tunables, std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos)
    return error("'{}' is not a setting: give NAME=VALUE, such as mb_max_to_scan=100", assignment);
  const std::string_view name = assignment.substr(0, equals);
  const TunableInfo* const info = find_tunable(name);
  if (info == nullptr) return error("unknown tunable '{}': choose from {}", name, known_names());
  const auto value = parse_u64(assignment.substr(equals + 1));
  if (!value.ok()) return error("{}: {}", name, value.error().message);
  E4R_CHECK(check_value(*info, *value));
  tunables.*(info->member) = *value;
  return {};
}

}  // namespace e4r::allocator
