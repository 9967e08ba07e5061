// SPDX-License-Identifier: GPL-2.0-or-later
#include "json/text.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>
#include <iterator>
#include <string_view>

#include "util/text.h"

namespace e4r {
namespace {

namespace json = boost::json;

constexpr std::size_t kOneLine =
    static_cast<std::size_t>(-1);  // the depth value that means: print on one line

void write(std::string& out, const json::value& value, std::size_t depth);

// Bytes that are not UTF-8 become U+FFFD. JSON permits DEL, the C1 control characters and direction
// marks unescaped, but a terminal would interpret them. So they are written as \uHHHH.
void write_string(std::string& out, std::string_view text) {
  constexpr std::uint32_t kDelete = 0x7f;
  const std::string quoted = json::serialize(json::string_view(valid_utf8(text)));
  for (std::string_view rest = quoted; !rest.empty();) {
    const Character c = first_character(rest);
    if (c.code >= kDelete && is_obeyed(c.code))
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c.code);
    else
      out += rest.substr(0, c.bytes);
    rest.remove_prefix(c.bytes);
  }
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

}  // namespace e4r
