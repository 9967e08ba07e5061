// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/text/flags.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>

#include "trace/event.h"

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
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || Scan::digit(c) || c == '_';
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

bool scan_flags(Scan& scan, std::span<const FlagName> names, std::uint32_t& flags,
                std::uint64_t& unknown, bool& decimal) {
  flags = 0;
  if (scan.at_end() || *scan.p == ' ') return true;
  if (Scan attempt = scan; attempt.number(flags) && (attempt.at_end() || *attempt.p == ' ')) {
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

ScannedLetters scan_letters(Scan& scan, std::span<const FlagName> names, std::uint64_t& unknown) {
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

}  // namespace e4r::trace
