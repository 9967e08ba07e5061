// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/text/criterion.h"

#include "trace/trace.h"

#include <array>
#include <string_view>

namespace e4r::trace {
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

bool CriterionReader::read(Scan& scan, mb::Criterion& criterion) {
  if (scan.at_end()) return false;
  const Scan before = scan;
  if (scan.word() == kPastLastText) {
    criterion = read_unnamed(kPastLast);
    return true;
  }
  scan = before;
  if (Scan::digit(*scan.p)) {
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
  // A criterion that the generation lacks keeps its name from another generation.
  for (const bool same_generation : {true, false})
    for (const auto& [of, member] : kWords) {
      if ((row.*member).empty() || (same_generation && of != generation)) continue;
      out += row.*member;
      return;
    }
  out += "CR_UNKNOWN";
}

}  // namespace e4r::trace
