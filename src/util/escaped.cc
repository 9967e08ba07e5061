// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/escaped.h"

#include <fmt/format.h>

#include <algorithm>

namespace e4r {

Character first_character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {};
  return {code, bytes};
}

bool is_obeyed(std::uint32_t code) {
  const auto within = [code](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  return code < ' ' || within(0x7f, 0x9f) || code == 0x61c || within(0x200e, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2066, 0x2069);
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character c = first_character(text);
    out += c.bytes == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, c.bytes);
    text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
  }
  return out;
}

namespace {

std::string escape(std::string_view text, bool keep_lines) {
  std::string out;
  while (!text.empty()) {
    const Character c = first_character(text);
    const std::size_t bytes = c.bytes == 0 ? 1 : c.bytes;
    const std::string_view here = text.substr(0, bytes);
    text.remove_prefix(bytes);
    if (c.bytes != 0 && (!is_obeyed(c.code) || (keep_lines && here == "\n")))
      out += here;
    else if (here == "\n")
      out += "\\n";
    else if (here == "\t")
      out += "\\t";
    else if (here == "\r")
      out += "\\r";
    else
      for (const char one : here) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(one));
  }
  return out;
}

}  // namespace

std::string escaped(std::string_view text) {
  return escape(text, false);
}

std::string escaped_lines(std::string_view text) {
  return escape(text, true);
}

}  // namespace e4r
