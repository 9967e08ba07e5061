// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/line.h"

#include <boost/json.hpp>
#include <charconv>
#include <span>

#include "json/text.h"
#include "report/json_parts.h"
#include "util/crc32c.h"

namespace e4r::sweep {
namespace {

namespace json = boost::json;

// Follows the opening brace. Lines of early versions lack it.
constexpr std::string_view kName = "\"schema\":\"e4replay-sweep-point/1\",";
constexpr std::string_view kPoint = "\"point\":";
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

// The object's members, without its braces.
std::string members_of(const json::object& object) {
  const std::string out = json_line(object);
  return out.substr(1, out.size() - 2);
}

// Makes a line of these members; adds the schema and the checksum.
std::string line_of(std::string_view members) {
  std::string line = fmt::format("{{{}{}", kName, members);
  return line + tail_of(line);
}

// The members of a line, without the schema; nullopt if the checksum is wrong.
std::optional<std::string_view> members_in(std::string_view line) {
  if (line.size() < kTail || !line.starts_with('{')) return std::nullopt;
  std::string_view body = line.substr(0, line.size() - kTail);
  if (line.substr(body.size()) != tail_of(body)) return std::nullopt;
  body.remove_prefix(1);
  if (body.starts_with(kName)) body.remove_prefix(kName.size());
  return body;
}

results::Value value_of(const json::value* value) {
  if (value == nullptr) return {};
  if (value->is_int64()) return static_cast<std::uint64_t>(value->get_int64());
  if (value->is_uint64()) return value->get_uint64();
  if (value->is_double()) return value->get_double();
  return {};
}

}  // namespace

std::string point_line(const Plan& plan, std::size_t index, const results::Outcome& run) {
  json::object object = head_of(plan, index);
  report::put_rows(object, run);
  return line_of(members_of(object));
}

std::string named_line(std::string_view line) {
  const auto members = members_in(line);
  return members ? line_of(*members) : std::string(line);
}

std::optional<std::size_t> point_of(const Plan& plan, std::string_view line) {
  const auto members = members_in(line);
  if (!members || !members->starts_with(kPoint)) return std::nullopt;
  std::size_t number = 0;
  const char* const digits = members->data() + kPoint.size();
  const auto [end, ec] = std::from_chars(digits, members->data() + members->size(), number);
  if (ec != std::errc() || number == 0 || number > plan.points.size()) return std::nullopt;
  // What the line says about the point must match the plan.
  if (!members->starts_with(members_of(head_of(plan, number - 1)) + ",")) return std::nullopt;
  return number - 1;
}

std::vector<results::Value> figures_of(std::string_view line) {
  boost::system::error_code failed;
  const json::value document = json::parse(line, failed);
  std::vector<results::Value> out;
  for (const results::Row& row : results::rows())
    out.push_back(failed || !document.is_object()
                      ? results::Value()
                      : value_of(report::find_at(document.get_object(), row.key)));
  return out;
}

}  // namespace e4r::sweep
