// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/line.h"

#include <boost/json.hpp>
#include <charconv>
#include <span>

#include "image/crc32c.h"
#include "report/json_parts.h"
#include "report/json_text.h"

namespace e4r::sweep {
namespace {

namespace json = boost::json;

constexpr std::string_view kPoint = "{\"point\":";
constexpr std::string_view kSum = ",\"crc\":\"";
constexpr std::size_t kTail = kSum.size() + 8 + 2;  // eight digits, a quote and a brace

std::string tail_of(std::string_view body) {
  return fmt::format("{}{:08x}\"}}", kSum, checksum(body));
}

json::object head_of(const Plan& plan, std::size_t index) {
  const Point& point = plan.points[index];
  json::object tunables;
  for (std::size_t i = 0; i < plan.spec.axes.size(); ++i)
    if (point.values[i]) tunables[plan.spec.axes[i].tunable->name] = *point.values[i];
  return {{"point", index + 1},
          {"capture", plan.spec.captures[point.capture]},
          {"policy", point.policy->name},
          {"tunables", std::move(tunables)}};
}

// The line's text without its closing brace.
std::string open_line(const json::object& object) {
  std::string out = report::json_line(object);
  out.pop_back();
  return out;
}

report::Value value_of(const json::value* value) {
  if (value == nullptr) return {};
  if (value->is_int64()) return static_cast<std::uint64_t>(value->get_int64());
  if (value->is_uint64()) return value->get_uint64();
  if (value->is_double()) return value->get_double();
  return {};
}

}  // namespace

std::uint32_t checksum(std::string_view bytes, std::uint32_t before) {
  return ~image::crc32c(~before, std::as_bytes(std::span(bytes.data(), bytes.size())));
}

std::string point_line(const Plan& plan, std::size_t index, const report::RunReport& run,
                       const report::ReplayReport& report) {
  json::object object = head_of(plan, index);
  report::put_rows(object, run, report);
  std::string line = open_line(object);
  line += tail_of(line);
  return line;
}

std::optional<std::size_t> point_of(const Plan& plan, std::string_view line) {
  if (line.size() < kTail || !line.starts_with(kPoint)) return std::nullopt;
  const std::string_view body = line.substr(0, line.size() - kTail);
  if (line.substr(body.size()) != tail_of(body)) return std::nullopt;
  std::size_t number = 0;
  const char* const digits = body.data() + kPoint.size();
  const auto [end, ec] = std::from_chars(digits, body.data() + body.size(), number);
  if (ec != std::errc() || number == 0 || number > plan.points.size()) return std::nullopt;
  // What it says of the point is what the plan says.
  if (!body.starts_with(open_line(head_of(plan, number - 1)) + ",")) return std::nullopt;
  return number - 1;
}

std::vector<report::Value> figures_of(std::string_view line) {
  boost::system::error_code failed;
  const json::value document = json::parse(line, failed);
  std::vector<report::Value> out;
  for (const report::Row& row : report::rows())
    out.push_back(failed || !document.is_object()
                      ? report::Value()
                      : value_of(report::find_at(document.get_object(), row.key)));
  return out;
}

}  // namespace e4r::sweep
