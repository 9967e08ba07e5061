// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/event.h"
#include "trace/text/scan.h"

namespace e4r::trace {

// A flag as the kernel prints it.
struct FlagName {
  std::string_view name;
  std::uint32_t bit;
};

// The flags of allocation requests (mb::), of ext4_free_blocks (fb::) and of extent status entries
// (es::, a letter each), in printing order.
[[nodiscard]] std::span<const FlagName> mb_flag_names();
[[nodiscard]] std::span<const FlagName> fb_flag_names();
[[nodiscard]] std::span<const FlagName> es_flag_names();

// Reads "NAME|NAME|0x8000" up to the next space or the end; an empty string is 0. Counts names
// missing from the table in `unknown` and ignores them. Sets `decimal` if the text is one number
// without 0x. Returns false if a part is neither name nor number.
[[nodiscard]] bool scan_flags(LineCursor& scan, std::span<const FlagName> names,
                              std::uint32_t& flags, std::uint64_t& unknown, bool& decimal);

// Reads "WR" or "W0x10" up to the next space or the end: a letter for each flag, then the bits
// without a letter. Counts letters missing from the table in `unknown` and ignores them.
struct ScannedLetters {
  std::uint32_t named = 0, rest = 0;
  bool good = true;
};
[[nodiscard]] ScannedLetters scan_letters(LineCursor& scan, std::span<const FlagName> names,
                                          std::uint64_t& unknown);

// Appends the flags as the kernel prints them: names, then the remaining bits in hexadecimal.
void print_flags(std::string& out, std::span<const FlagName> names, std::uint32_t flags);

// Turns the value after "cr" into a criterion and detects the kernel's generation. Names determine
// the generation. Digits mean 6.1 unless the user says otherwise or a 4 appears, which only kernels
// with five rungs print.
class CriterionReader {
 public:
  // `declared` is the generation according to the user, or unknown.
  explicit CriterionReader(Generation declared = Generation::unknown) : generation_(declared) {}

  // Reads one token. An unknown number or "CR..." name becomes mb::Criterion::unknown. Returns
  // false for any other token.
  [[nodiscard]] bool read(LineCursor& scan, mb::Criterion& criterion);
  // Converts a number.
  [[nodiscard]] mb::Criterion read_number(unsigned number);
  // Converts a number for which a kernel that prints names has no name.
  [[nodiscard]] mb::Criterion read_unnamed(unsigned number);
  // Converts a name. Returns false if it does not begin with "CR".
  [[nodiscard]] bool read_name(std::string_view word, mb::Criterion& criterion);

  [[nodiscard]] Generation generation() const { return generation_; }
  // Whether the generation was derived only from digits, which 6.5 and 6.6 also print.
  [[nodiscard]] bool guessed() const { return guessed_; }
  // Whether a 2 or 3 was read on the assumption of 6.1 and a later 4 disproved that.
  [[nodiscard]] bool misread() const { return misread_; }

 private:
  void see_digit(unsigned digit);

  Generation generation_;
  bool guessed_ = false;
  bool misread_ = false;
  bool saw_high_digit_ = false;
};

// Appends the criterion as a kernel of that generation prints it (6.1 if unknown).
void print_criterion(std::string& out, mb::Criterion criterion, Generation generation);

}  // namespace e4r::trace
