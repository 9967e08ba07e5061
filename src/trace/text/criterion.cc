// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/text/criterion.h"

#include "trace/trace.h"

#include <array>
#include <string_view>

namespace e4r::trace {
namespace {

struct Name {
  std::string_view text;
  Criterion criterion;
  Generation generation;
};

constexpr auto kNames = std::to_array<Name>({
    {"CR_POWER2_ALIGNED", Criterion::cr0, Generation::v6_5},
    {"CR_GOAL_LEN_FAST", Criterion::cr1, Generation::v6_5},
    {"CR_BEST_AVAIL_LEN", Criterion::best_avail, Generation::v6_5},
    {"CR_GOAL_LEN_SLOW", Criterion::cr2, Generation::v6_5},
    {"CR_ANY_FREE", Criterion::cr3, Generation::v6_5},
    {"CR0", Criterion::cr0, Generation::cr1_5},
    {"CR1", Criterion::cr1, Generation::cr1_5},
    {"CR1_5", Criterion::cr1_5, Generation::cr1_5},
    {"CR2", Criterion::cr2, Generation::cr1_5},
    {"CR3", Criterion::cr3, Generation::cr1_5},
});

// The rungs of a generation by number.
constexpr std::array kLadder61 = {Criterion::cr0, Criterion::cr1, Criterion::cr2, Criterion::cr3};
constexpr std::array kLadderCr15 = {Criterion::cr0, Criterion::cr1, Criterion::cr1_5,
                                    Criterion::cr2, Criterion::cr3};
constexpr std::array kLadder65 = {Criterion::cr0, Criterion::cr1, Criterion::best_avail,
                                  Criterion::cr2, Criterion::cr3};

template <std::size_t N>
Criterion rung(const std::array<Criterion, N>& ladder, unsigned digit) {
  return digit < N ? ladder[digit] : Criterion::unknown;
}

Criterion by_number(Generation generation, unsigned digit) {
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

bool CriterionReader::read(Scan& scan, Criterion& criterion) {
  if (scan.at_end()) return false;
  if (Scan::digit(*scan.p)) {
    unsigned digit = 0;
    if (!scan.number(digit)) return false;
    see_digit(digit);
    criterion = by_number(generation_, digit);
    return true;
  }
  const std::string_view word = scan.word();
  for (const Name& name : kNames) {
    if (name.text != word) continue;
    if (generation_ == Generation::unknown) generation_ = name.generation;
    criterion = name.criterion;
    return true;
  }
  criterion = Criterion::unknown;
  return word.starts_with("CR");
}

Criterion reread_criterion(Criterion criterion) {
  if (criterion == Criterion::cr2) return Criterion::best_avail;
  if (criterion == Criterion::cr3) return Criterion::cr2;
  return criterion;
}

void print_criterion(std::string& out, Criterion criterion, Generation generation) {
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
