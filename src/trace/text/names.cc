// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/text/names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>
#include <string_view>

#include "trace/event.h"
#include "trace/trace.h"

namespace e4r::trace {
namespace {

constexpr auto kMbNames = std::to_array<FlagName>({
    {"HINT_MERGE", mb::hint_merge},
    {"HINT_RESV", mb::hint_reserved},
    {"HINT_MDATA", mb::hint_metadata},
    {"HINT_FIRST", mb::hint_first},
    {"HINT_BEST", mb::hint_best},
    {"HINT_DATA", mb::hint_data},
    {"HINT_NOPREALLOC", mb::hint_noprealloc},
    {"HINT_GRP_ALLOC", mb::hint_group_alloc},
    {"HINT_GOAL_ONLY", mb::hint_goal_only},
    {"HINT_TRY_GOAL", mb::hint_try_goal},
    {"DELALLOC_RESV", mb::delalloc_reserved},
    {"STREAM_ALLOC", mb::stream_alloc},
    {"USE_ROOT_BLKS", mb::use_root_blocks},
    {"USE_RESV", mb::use_reserved},
    {"STRICT_CHECK", mb::strict_check},
});

constexpr auto kFbNames = std::to_array<FlagName>({
    {"METADATA", fb::metadata},
    {"FORGET", fb::forget},
    {"VALIDATED", fb::validated},
    {"NO_QUOTA", fb::no_quota},
    {"1ST_CLUSTER", fb::nofree_first_cluster},
    {"LAST_CLUSTER", fb::nofree_last_cluster},
});

constexpr auto kEsNames = std::to_array<FlagName>({
    {"W", es::written},
    {"U", es::unwritten},
    {"D", es::delayed},
    {"H", es::hole},
    {"R", es::referenced},
});

bool hexadecimal(std::string_view text, std::uint32_t& value) {
  if (!text.starts_with("0x")) return false;
  const char* stop = text.data() + text.size();
  const auto [end, ec] = std::from_chars(text.data() + 2, stop, value, 16);
  return ec == std::errc() && end == stop;
}

bool name_like(std::string_view text) {
  for (const char c : text) {
    const bool good =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || LineCursor::digit(c) || c == '_';
    if (!good) return false;
  }
  return !text.empty();
}

}  // namespace

std::span<const FlagName> mb_flag_names() {
  return kMbNames;
}
std::span<const FlagName> fb_flag_names() {
  return kFbNames;
}
std::span<const FlagName> es_flag_names() {
  return kEsNames;
}

bool scan_flags(LineCursor& scan, std::span<const FlagName> names, std::uint32_t& flags,
                std::uint64_t& unknown, bool& decimal) {
  flags = 0;
  if (scan.at_end() || *scan.p == ' ') return true;
  if (LineCursor attempt = scan; attempt.number(flags) && (attempt.at_end() || *attempt.p == ' ')) {
    scan = attempt;
    decimal = true;
    return true;
  }
  flags = 0;
  for (;;) {
    const char* start = scan.p;
    while (!scan.at_end() && *scan.p != '|' && *scan.p != ' ') ++scan.p;
    const std::string_view part(start, static_cast<std::size_t>(scan.p - start));
    const FlagName* found = nullptr;
    for (const FlagName& f : names)
      if (f.name == part) found = &f;
    std::uint32_t rest = 0;
    if (found != nullptr) {
      flags |= found->bit;
    } else if (hexadecimal(part, rest)) {
      flags |= rest;
    } else if (name_like(part)) {
      ++unknown;
    } else {
      return false;
    }
    if (!scan.ch('|')) return true;
  }
}

ScannedLetters scan_letters(LineCursor& scan, std::span<const FlagName> names,
                            std::uint64_t& unknown) {
  ScannedLetters out;
  for (; !scan.at_end() && *scan.p != ' '; ++scan.p) {
    const char letter = *scan.p;
    if (letter == '0') {
      out.good = hexadecimal(scan.word(), out.rest);
      return out;
    }
    std::uint32_t bit = 0;
    for (const FlagName& f : names)
      if (f.name.front() == letter) bit = f.bit;
    if (bit == 0 && !name_like({&letter, 1})) {
      out.good = false;
      return out;
    }
    unknown += bit == 0;
    out.named |= bit;
  }
  return out;
}

void print_flags(std::string& out, std::span<const FlagName> names, std::uint32_t flags) {
  bool first = true;
  const auto separate = [&] {
    if (!first) out += '|';
    first = false;
  };
  for (const FlagName& f : names) {
    if ((flags & f.bit) == 0) continue;
    separate();
    out += f.name;
    flags &= ~f.bit;
  }
  if (flags == 0) return;
  separate();
  fmt::format_to(std::back_inserter(out), "0x{:x}", flags);
}

namespace {

// The kernel has no name for the number after the last rung and prints it in hexadecimal.
constexpr unsigned kPastLast =
    static_cast<unsigned>(mb::row_of(mb::Criterion::past_last).number_6_5);
constexpr std::string_view kPastLastText = "0x5";
static_assert(kPastLast == 5);

using Word = std::string_view mb::CriterionRow::*;
using Number = std::int8_t mb::CriterionRow::*;

// The generations that print names for criteria. 6.1 prints only numbers.
struct Words {
  Generation generation;
  Word word;
};
constexpr std::array kWords = {Words{Generation::v6_5, &mb::CriterionRow::word_6_5},
                               Words{Generation::cr1_5, &mb::CriterionRow::word_cr1_5}};

// The criteria of a generation by number; unknown for unused numbers.
using ByNumber = std::array<mb::Criterion, mb::kTableCriteria>;
template <Number Of>
constexpr ByNumber kByNumber = [] {
  ByNumber out;
  out.fill(mb::Criterion::unknown);
  for (const mb::CriterionRow& row : mb::kCriterionTable)
    if (row.*Of >= 0) out[static_cast<std::size_t>(row.*Of)] = row.criterion;
  return out;
}();

mb::Criterion by_number(Generation generation, unsigned number) {
  if (number >= mb::kTableCriteria) return mb::Criterion::unknown;
  if (generation == Generation::v6_5) return kByNumber<&mb::CriterionRow::number_6_5>[number];
  if (generation == Generation::cr1_5) return kByNumber<&mb::CriterionRow::number_cr1_5>[number];
  return kByNumber<&mb::CriterionRow::number_6_1>[number];
}

}  // namespace

void CriterionReader::see_digit(unsigned digit) {
  if (generation_ == Generation::unknown) {
    generation_ = Generation::v6_1;
    guessed_ = true;
  }
  if (guessed_ && digit == 4) {
    misread_ = saw_high_digit_ && generation_ == Generation::v6_1;
    generation_ = Generation::v6_5;
    guessed_ = false;
  }
  saw_high_digit_ |= digit == 2 || digit == 3;
}

bool CriterionReader::read(LineCursor& scan, mb::Criterion& criterion) {
  if (scan.at_end()) return false;
  const LineCursor before = scan;
  if (scan.word() == kPastLastText) {
    criterion = read_unnamed(kPastLast);
    return true;
  }
  scan = before;
  if (LineCursor::digit(*scan.p)) {
    unsigned digit = 0;
    if (!scan.number(digit)) return false;
    criterion = read_number(digit);
    return true;
  }
  return read_name(scan.word(), criterion);
}

mb::Criterion CriterionReader::read_number(unsigned number) {
  see_digit(number);
  return by_number(generation_, number);
}

mb::Criterion CriterionReader::read_unnamed(unsigned number) {
  if (generation_ == Generation::unknown) generation_ = Generation::v6_5;
  return number == kPastLast && generation_ == Generation::v6_5 ? mb::Criterion::past_last
                                                                : mb::Criterion::unknown;
}

bool CriterionReader::read_name(std::string_view word, mb::Criterion& criterion) {
  for (const auto& [generation, member] : kWords)
    for (const mb::CriterionRow& row : mb::kCriterionTable) {
      if (row.*member != word || word.empty()) continue;
      if (generation_ == Generation::unknown) generation_ = generation;
      criterion = row.criterion;
      return true;
    }
  criterion = mb::Criterion::unknown;
  return word.starts_with("CR");
}

mb::Criterion reread_criterion(mb::Criterion criterion) {
  if (criterion == mb::Criterion::cr2) return mb::Criterion::best_avail;
  if (criterion == mb::Criterion::cr3) return mb::Criterion::cr2;
  return criterion;
}

void print_criterion(std::string& out, mb::Criterion criterion, Generation generation) {
  if (criterion == mb::Criterion::past_last) {
    out += kPastLastText;
    return;
  }
  const mb::CriterionRow& row = mb::row_of(criterion);
  const bool words = generation == Generation::v6_5 || generation == Generation::cr1_5;
  if (!words && row.number_6_1 >= 0) {
    out += static_cast<char>('0' + row.number_6_1);
    return;
  }
  // A criterion that the generation lacks is printed with its name from another generation.
  for (const bool same_generation : {true, false})
    for (const auto& [of, member] : kWords) {
      if ((row.*member).empty() || (same_generation && of != generation)) continue;
      out += row.*member;
      return;
    }
  out += "CR_UNKNOWN";
}

}  // namespace e4r::trace
