// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <e4replay/criterion.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace e4r::mb {

// Flags of allocation requests, with the kernel's values (EXT4_MB_*, fs/ext4/ext4.h, 6.1). Traces
// print their names, which are the same in later kernels.
inline constexpr std::uint32_t hint_merge = 0x0001;
inline constexpr std::uint32_t hint_reserved = 0x0002;
inline constexpr std::uint32_t hint_metadata = 0x0004;
inline constexpr std::uint32_t hint_first = 0x0008;
inline constexpr std::uint32_t hint_best = 0x0010;
inline constexpr std::uint32_t hint_data = 0x0020;
inline constexpr std::uint32_t hint_noprealloc = 0x0040;
inline constexpr std::uint32_t hint_group_alloc = 0x0080;
inline constexpr std::uint32_t hint_goal_only = 0x0100;
inline constexpr std::uint32_t hint_try_goal = 0x0200;
inline constexpr std::uint32_t delalloc_reserved = 0x0400;
inline constexpr std::uint32_t stream_alloc = 0x0800;
inline constexpr std::uint32_t use_root_blocks = 0x1000;
inline constexpr std::uint32_t use_reserved = 0x2000;
inline constexpr std::uint32_t strict_check = 0x4000;
// A closing event stores each of these in 16 bits: the number of extents found, the number of
// groups scanned, the flags, and the tail.
inline constexpr std::uint32_t recorded_bits = 0xffff;
// Flags that the search itself sets. The closing event stores 16 bits, so it shows cr0_optimized as
// "0x8000" and does not show the others.
inline constexpr std::uint32_t cr0_optimized = 0x8000;
inline constexpr std::uint32_t cr1_optimized = 0x10000;
inline constexpr std::uint32_t cr1_5_optimized = 0x20000;       // the CR1.5 series
inline constexpr std::uint32_t best_avail_optimized = 0x20000;  // 6.5 to 6.16

using e4replay::Criterion;

// The number of criteria: those with a row in the table, and those that plugin policies name (own_1
// to own_4).
inline constexpr std::size_t kCriteria = 12;
inline constexpr std::size_t kOwnCriteria = 4;
inline constexpr std::size_t kTableCriteria = kCriteria - kOwnCriteria;
[[nodiscard]] constexpr bool is_own(Criterion criterion) {
  return criterion >= Criterion::own_1 && criterion <= Criterion::own_4;
}

// The properties of a criterion. Readers, counters and reports take them from here and keep no
// lists of their own. To add a criterion, add a value to the enum and a row to the table.
struct CriterionRow {
  Criterion criterion = Criterion::unknown;
  std::string_view name = {};  // in explanations and on the HTML page

  // Set for values that can end a search.
  std::string_view title = {};  // in rows of reports
  std::string_view key = {};    // in JSON documents

  // Empty for values that are not criteria of a ladder.
  std::string_view section = {};      // in mb_stats, Linux 6.1; e4replay uses it for all kernels
  std::string_view section_6_5 = {};  // in mb_stats, Linux 6.5 and later
  bool suggests = false;              // mb_stats has bad_suggestions for it, on kernels with lists
  bool trims = false;                 // it may shorten the goal of a search

  // Its representation in traces and binary records, by kernel: numbers, or words (enum criteria in
  // fs/ext4/ext4.h). Empty or -1 if that kernel lacks the criterion or a word for it.
  std::string_view word_6_5 = {};    // Linux 6.5 and later
  std::string_view word_cr1_5 = {};  // Linux 6.1 with the CR1.5 series
  std::int8_t number_6_1 = -1;
  std::int8_t number_6_5 = -1;
  std::int8_t number_cr1_5 = -1;
};

// In ladder order. Values that are not criteria of a ladder come last.
inline constexpr auto kCriterionTable = std::to_array<CriterionRow>({
    {.criterion = Criterion::cr0,
     .name = "CR0",
     .title = "CR0",
     .key = "cr0",
     .section = "cr0_stats",
     .section_6_5 = "cr_p2_aligned_stats",
     .suggests = true,
     .word_6_5 = "CR_POWER2_ALIGNED",
     .word_cr1_5 = "CR0",
     .number_6_1 = 0,
     .number_6_5 = 0,
     .number_cr1_5 = 0},
    {.criterion = Criterion::cr1,
     .name = "CR1",
     .title = "CR1",
     .key = "cr1",
     .section = "cr1_stats",
     .section_6_5 = "cr_goal_fast_stats",
     .suggests = true,
     .word_6_5 = "CR_GOAL_LEN_FAST",
     .word_cr1_5 = "CR1",
     .number_6_1 = 1,
     .number_6_5 = 1,
     .number_cr1_5 = 1},
    {.criterion = Criterion::cr1_5,
     .name = "CR1.5",
     .title = "CR1.5",
     .key = "cr1_5",
     .section = "cr1.5_stats",
     .suggests = true,
     .trims = true,
     .word_cr1_5 = "CR1_5",
     .number_cr1_5 = 2},
    {.criterion = Criterion::best_avail,
     .name = "best-avail",
     .title = "best avail",
     .key = "best_avail",
     .section = "best_avail_stats",
     .section_6_5 = "cr_best_avail_stats",
     .suggests = true,
     .trims = true,
     .word_6_5 = "CR_BEST_AVAIL_LEN",
     .number_6_5 = 2},
    {.criterion = Criterion::cr2,
     .name = "CR2",
     .title = "CR2",
     .key = "cr2",
     .section = "cr2_stats",
     .section_6_5 = "cr_goal_slow_stats",
     .word_6_5 = "CR_GOAL_LEN_SLOW",
     .word_cr1_5 = "CR2",
     .number_6_1 = 2,
     .number_6_5 = 3,
     .number_cr1_5 = 3},
    {.criterion = Criterion::cr3,
     .name = "CR3",
     .title = "CR3",
     .key = "cr3",
     .section = "cr3_stats",
     .section_6_5 = "cr_any_free_stats",
     .word_6_5 = "CR_ANY_FREE",
     .word_cr1_5 = "CR3",
     .number_6_1 = 3,
     .number_6_5 = 4,
     .number_cr1_5 = 4},
    {.criterion = Criterion::past_last,
     .name = "past-CR3",
     .title = "past CR3",
     .key = "past_cr3",
     .number_6_5 = 5},
    {.criterion = Criterion::unknown, .name = "unknown"},
});

static_assert(kCriterionTable.size() == kTableCriteria, "a criterion has no row, or two");

// The index of each value's row. Compilation fails unless each value has exactly one row.
inline constexpr auto kCriterionRows = [] {
  std::array<std::uint8_t, kCriteria> rows = {};
  std::array<bool, kCriteria> found = {};
  for (std::size_t i = 0; i < kTableCriteria; ++i) {
    const auto value = static_cast<std::size_t>(kCriterionTable[i].criterion);
    if (found[value] || is_own(kCriterionTable[i].criterion)) throw "two rows of one criterion";
    found[value] = true;
    rows[value] = static_cast<std::uint8_t>(i);
  }
  return rows;
}();

// Returns the criterion for a plugin policy's rung with that name (letters, digits, '.', '_' and
// '-'). The same name always gives the same criterion. Its row holds the name and keys derived from
// it. Returns nullopt if kOwnCriteria other names are in use. Thread-safe, as are the functions
// below.
[[nodiscard]] std::optional<Criterion> own_criterion(std::string_view name);
// Converts a name to a key for JSON documents: "long-run" becomes "long_run".
[[nodiscard]] std::string key_of(std::string_view name);
// The row of an own criterion. If the criterion has no name yet, the row has no section.
[[nodiscard]] const CriterionRow& own_row(Criterion criterion);

[[nodiscard]] constexpr const CriterionRow& row_of(Criterion criterion) {
  if (is_own(criterion)) return own_row(criterion);
  return kCriterionTable[kCriterionRows[static_cast<std::size_t>(criterion)]];
}
[[nodiscard]] constexpr std::string_view criterion_name(Criterion criterion) {
  return row_of(criterion).name;
}

// The criteria that a ladder may have, in ladder order. Named own criteria come before CR2.
[[nodiscard]] std::vector<CriterionRow> ladder_criteria();
// The number of named own criteria.
[[nodiscard]] std::size_t own_criteria();

}  // namespace e4r::mb
