// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/text/criterion.h"

#include "trace/trace.h"

#include <array>
#include <string_view>

namespace e4r::trace {
namespace {

struct Name {
  std::string_view text;
  mb::Criterion criterion;
  Generation generation;
};

// The kernel has no name for the number after the last rung: its text is the number in hex.
constexpr unsigned kPastLast = 5;
constexpr std::string_view kPastLastText = "0x5";

constexpr auto kNames = std::to_array<Name>({
    {"CR_POWER2_ALIGNED", mb::Criterion::cr0, Generation::v6_5},
    {"CR_GOAL_LEN_FAST", mb::Criterion::cr1, Generation::v6_5},
    {"CR_BEST_AVAIL_LEN", mb::Criterion::best_avail, Generation::v6_5},
    {"CR_GOAL_LEN_SLOW", mb::Criterion::cr2, Generation::v6_5},
    {"CR_ANY_FREE", mb::Criterion::cr3, Generation::v6_5},
    {"CR0", mb::Criterion::cr0, Generation::cr1_5},
    {"CR1", mb::Criterion::cr1, Generation::cr1_5},
    {"CR1_5", mb::Criterion::cr1_5, Generation::cr1_5},
    {"CR2", mb::Criterion::cr2, Generation::cr1_5},
    {"CR3", mb::Criterion::cr3, Generation::cr1_5},
});

// The rungs of a generation by number.
constexpr std::array kLadder61 = {mb::Criterion::cr0, mb::Criterion::cr1, mb::Criterion::cr2,
                                  mb::Criterion::cr3};
constexpr std::array kLadderCr15 = {mb::Criterion::cr0, mb::Criterion::cr1, mb::Criterion::cr1_5,
                                    mb::Criterion::cr2, mb::Criterion::cr3};
constexpr std::array kLadder65 = {mb::Criterion::cr0, mb::Criterion::cr1, mb::Criterion::best_avail,
                                  mb::Criterion::cr2, mb::Criterion::cr3, mb::Criterion::past_last};

template <std::size_t N>
mb::Criterion rung(const std::array<mb::Criterion, N>& ladder, unsigned digit) {
  return digit < N ? ladder[digit] : mb::Criterion::unknown;
}

mb::Criterion by_number(Generation generation, unsigned digit) {
  if (generation == Generation::v6_5) return rung(kLadder65, digit);
  if (generation == Generation::cr1_5) return rung(kLadderCr15, digit);
  return rung(kLadder61, digit);
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
  for (const Name& name : kNames) {
    if (name.text != word) continue;
    if (generation_ == Generation::unknown) generation_ = name.generation;
    criterion = name.criterion;
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
  const bool names = generation == Generation::v6_5 || generation == Generation::cr1_5;
  for (unsigned digit = 0; !names && digit < kLadder61.size(); ++digit) {
    if (kLadder61[digit] != criterion) continue;
    out += static_cast<char>('0' + digit);
    return;
  }
  // A criterion that the generation does not have keeps its name, whosever it is.
  for (const bool same_generation : {true, false})
    for (const Name& name : kNames) {
      if (name.criterion != criterion || (same_generation && name.generation != generation))
        continue;
      out += name.text;
      return;
    }
  out += "CR_UNKNOWN";
}

}  // namespace e4r::trace
