// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/json_text.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>

namespace e4r::report {
namespace {

namespace json = boost::json;

void write(std::string& out, const json::value& value, std::size_t depth);

void new_line(std::string& out, std::size_t depth) {
  out += '\n';
  out.append(2 * depth, ' ');
}

void write_object(std::string& out, const json::object& object, std::size_t depth) {
  const char* before = "";
  out += '{';
  for (const auto& [key, value] : object) {
    out += before;
    new_line(out, depth + 1);
    out += json::serialize(key);
    out += ": ";
    write(out, value, depth + 1);
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
    new_line(out, depth + 1);
    write(out, value, depth + 1);
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
  else if (value.is_double())
    out += std::isfinite(value.get_double()) ? fmt::format("{}", value.get_double()) : "null";
  else
    out += json::serialize(value);
}

}  // namespace

std::string json_text(const json::value& value) {
  std::string out;
  write(out, value, 0);
  out += '\n';
  return out;
}

}  // namespace e4r::report
