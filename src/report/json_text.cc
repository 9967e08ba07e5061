// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/json_text.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>
#include <string_view>

namespace e4r::report {
namespace {

namespace json = boost::json;

constexpr std::size_t kOneLine = static_cast<std::size_t>(-1);  // as a depth

void write(std::string& out, const json::value& value, std::size_t depth);

// Bytes of the UTF-8 sequence that `text` begins with; 0 when it begins with none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool no_character = (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf4 && byte(1) > 0x8f);
  return length > 1 && (overlong || no_character) ? 0 : length;
}

void write_string(std::string& out, std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    clean += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += json::serialize(json::string_view(clean));
}

std::size_t deeper(std::size_t depth) {
  return depth == kOneLine ? kOneLine : depth + 1;
}

void new_line(std::string& out, std::size_t depth) {
  if (depth == kOneLine) return;
  out += '\n';
  out.append(2 * depth, ' ');
}

void write_object(std::string& out, const json::object& object, std::size_t depth) {
  const char* before = "";
  out += '{';
  for (const auto& [key, value] : object) {
    out += before;
    new_line(out, deeper(depth));
    write_string(out, key);
    out += depth == kOneLine ? ":" : ": ";
    write(out, value, deeper(depth));
    before = ",";
  }
  if (!object.empty()) new_line(out, depth);
  out += '}';
}

void write_array(std::string& out, const json::array& array, std::size_t depth) {
  const char* before = "";
  out += '[';
  for (const json::value& value : array) {
    out += before;
    new_line(out, deeper(depth));
    write(out, value, deeper(depth));
    before = ",";
  }
  if (!array.empty()) new_line(out, depth);
  out += ']';
}

void write(std::string& out, const json::value& value, std::size_t depth) {
  if (value.is_object())
    write_object(out, value.get_object(), depth);
  else if (value.is_array())
    write_array(out, value.get_array(), depth);
  else if (value.is_string())
    write_string(out, value.get_string());
  else if (value.is_double())
    out += std::isfinite(value.get_double()) ? fmt::format("{}", value.get_double()) : "null";
  else
    out += json::serialize(value);
}

}  // namespace

std::string json_line(const json::value& value) {
  std::string out;
  write(out, value, kOneLine);
  return out;
}

std::string json_text(const json::value& value) {
  std::string out;
  write(out, value, 0);
  out += '\n';
  return out;
}

}  // namespace e4r::report
