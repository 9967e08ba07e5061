// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <cmath>
#include <cstdint>

#include "util/text.h"

namespace e4r::watch {
namespace {

std::string_view type_name(MetricType type, Exposition format) {
  switch (type) {
    case MetricType::counter:
      return "counter";
    case MetricType::histogram:
      return "histogram";
    case MetricType::info:
      if (format == Exposition::openmetrics) return "info";
      break;
    case MetricType::gauge:
      break;
  }
  return "gauge";
}

std::string_view suffix_of(MetricType type) {
  if (type == MetricType::counter) return "_total";
  return type == MetricType::info ? "_info" : "";
}

// The text with "\xHH" in place of bytes that are not UTF-8. U+FFFD is replaced likewise, because
// no query can name a value that contains it.
std::string queryable(std::string_view text) {
  constexpr std::uint32_t kReplacement = 0xfffd;
  std::string out;
  while (!text.empty()) {
    const Character c = first_character(text);
    const std::string_view here = text.substr(0, std::max<std::size_t>(c.bytes, 1));
    text.remove_prefix(here.size());
    if (c.bytes != 0 && c.code != kReplacement) {
      out += here;
      continue;
    }
    for (const char one : here) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(one));
  }
  return out;
}

// Escapes line breaks and backslashes and, with `quotes`, double quotes.
std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : queryable(text)) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    out += c;
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value == std::floor(value) && std::abs(value) < kExact)
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

void add_labels(std::string& out, const MetricLabels& labels) {
  char before = '{';
  for (const auto& [name, value] : labels) {
    out += fmt::format("{}{}=\"{}\"", before, name, escaped(value, true));
    before = ',';
  }
  if (!labels.empty()) out += '}';
}

void add_family(std::string& out, const MetricFamily& family, Exposition format) {
  const bool open = format == Exposition::openmetrics;
  const std::string_view suffix = suffix_of(family.type);
  // Only OpenMetrics names the family without the suffix of its samples.
  const std::string name = open ? family.name : fmt::format("{}{}", family.name, suffix);
  out += fmt::format("# HELP {} {}\n", name, escaped(family.help, open));
  out += fmt::format("# TYPE {} {}\n", name, type_name(family.type, format));
  if (open && !family.unit.empty()) out += fmt::format("# UNIT {} {}\n", name, family.unit);
  for (const MetricSample& sample : family.samples) {
    out += fmt::format("{}{}", family.name, sample.suffix.empty() ? suffix : sample.suffix);
    add_labels(out, sample.labels);
    out += fmt::format(" {}\n", number(sample.value));
  }
}

// Whether one element of an Accept header accepts that kind with a weight other than zero.
bool accepts(std::string_view element, std::string_view kind) {
  std::string plain = boost::algorithm::to_lower_copy(std::string(element));
  std::erase_if(plain, [](char c) { return c == ' ' || c == '\t'; });
  if (plain.substr(0, plain.find(';')) != kind) return false;
  const auto weight = plain.find(";q=");
  return weight == std::string::npos ||
         plain.find_first_not_of("0.", weight + 3) < plain.find(';', weight + 1);
}

}  // namespace

Exposition exposition_for(std::string_view accept) {
  while (!accept.empty()) {
    const auto comma = accept.find(',');
    if (accepts(accept.substr(0, comma), "application/openmetrics-text"))
      return Exposition::openmetrics;
    accept = comma == std::string_view::npos ? std::string_view() : accept.substr(comma + 1);
  }
  return Exposition::prometheus;
}

std::string_view content_type(Exposition format) {
  return format == Exposition::openmetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string exposition(const std::vector<MetricFamily>& families, Exposition format) {
  std::string out;
  for (const MetricFamily& family : families)
    if (!family.samples.empty()) add_family(out, family, format);
  if (format == Exposition::openmetrics) out += "# EOF\n";
  return out;
}

}  // namespace e4r::watch
