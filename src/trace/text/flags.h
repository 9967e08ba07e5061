// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

// Reads "NAME|NAME|0x8000" up to the next space or the end; an empty text is 0. Counts names
// missing from the table in `unknown` and ignores them. Sets `decimal` if the text is one number
// without 0x. Returns false if a part is neither name nor number.
[[nodiscard]] bool scan_flags(Scan& scan, std::span<const FlagName> names, std::uint32_t& flags,
                              std::uint64_t& unknown, bool& decimal);

// Reads "WR" or "W0x10" up to the next space or the end: a letter for each flag, then the bits
// without a letter. Counts letters missing from the table in `unknown` and ignores them.
struct ScannedLetters {
  std::uint32_t named = 0, rest = 0;
  bool good = true;
};
[[nodiscard]] ScannedLetters scan_letters(Scan& scan, std::span<const FlagName> names,
                                          std::uint64_t& unknown);

// Appends the flags as the kernel prints them: names, then the remaining bits in hexadecimal.
void print_flags(std::string& out, std::span<const FlagName> names, std::uint32_t flags);

}  // namespace e4r::trace
