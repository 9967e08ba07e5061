// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace e4r {
namespace {

constexpr std::size_t kGap = 2;

}  // namespace

void TextTable::row(std::vector<std::string> cells) {
  lines_.push_back({Kind::row, std::move(cells)});
}

void TextTable::heading(std::string text) {
  lines_.push_back({Kind::heading, {std::move(text)}});
}

void TextTable::rule() {
  lines_.push_back({Kind::rule, {}});
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (const Line& line : lines_) {
    if (line.kind != Kind::row) continue;
    widths.resize(std::max(widths.size(), line.cells.size()), 0);
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      widths[i] = std::max(widths[i], line.cells[i].size());
  }
  const std::size_t total = std::accumulate(widths.begin(), widths.end(), std::size_t{0}) +
                            (widths.empty() ? 0 : kGap * (widths.size() - 1));
  std::string out;
  for (const Line& line : lines_) {
    std::string text;
    if (line.kind == Kind::rule) text.assign(total, '-');
    if (line.kind == Kind::heading) text = line.cells.front();
    for (std::size_t i = 0; line.kind == Kind::row && i < line.cells.size(); ++i) {
      const std::string& cell = line.cells[i];
      const std::string pad(widths[i] - cell.size(), ' ');
      if (i > 0) text.append(kGap, ' ');
      text += i == 0 ? cell + pad : pad + cell;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
  return out;
}

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

std::string escape(std::string_view text) {
  return escape(text, false);
}

std::string escape_lines(std::string_view text) {
  return escape(text, true);
}

}  // namespace e4r
