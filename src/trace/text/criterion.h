// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>

#include "trace/event.h"
#include "trace/text/scan.h"

namespace e4r::trace {

// Turns what follows "cr" into a criterion, and finds out which kernel printed it. Names settle
// that; digits mean 6.1 unless told otherwise or until a 4 shows up, which only five rungs have.
class CriterionReader {
 public:
  // `declared`: what the user says, or unknown.
  explicit CriterionReader(Generation declared = Generation::unknown) : generation_(declared) {}

  // Reads one token; mb::Criterion::unknown for a number or "CR..." name that is none we know.
  // False when it is neither.
  [[nodiscard]] bool read(Scan& scan, mb::Criterion& criterion);
  // The same for a number.
  [[nodiscard]] mb::Criterion read_number(unsigned number);
  // A number for which a kernel that prints names has none.
  [[nodiscard]] mb::Criterion read_unnamed(unsigned number);
  // The same for a word: false when it is no "CR..." name.
  [[nodiscard]] bool read_name(std::string_view word, mb::Criterion& criterion);

  [[nodiscard]] Generation generation() const { return generation_; }
  // Nothing but digits settled the generation: kernels 6.5 and 6.6 print digits, too.
  [[nodiscard]] bool guessed() const { return guessed_; }
  // The guess was 6.1 when a 2 or 3 was read, and a 4 has disproved it: those were misread.
  [[nodiscard]] bool misread() const { return misread_; }

 private:
  void see_digit(unsigned digit);

  Generation generation_;
  bool guessed_ = false;
  bool misread_ = false;
  bool saw_high_digit_ = false;
};

// Appends the criterion as a kernel of that generation prints it (6.1 when unknown).
void print_criterion(std::string& out, mb::Criterion criterion, Generation generation);

}  // namespace e4r::trace
