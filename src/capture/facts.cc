// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/facts.h"

#include <algorithm>
#include <boost/describe/class.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>

#include "util/escaped.h"

namespace e4r::capture {

BOOST_DESCRIBE_STRUCT(StartFacts, (),
                      (recorder, time, kernel, kernel_version, machine, device, device_name,
                       mount_point, mount_options, command, clock, events, snapshot, possible_cpus,
                       rotational, mounted, settled, frozen_s))
BOOST_DESCRIBE_STRUCT(Losses, (), (cpu, events))
BOOST_DESCRIBE_STRUCT(EndFacts, (),
                      (time, reason, exit_status, elapsed_s, frozen_s, events, lost, quiet,
                       changes))

namespace {

namespace json = boost::json;

template <class Facts>
Result<Facts> parse(std::string_view text) {
  json::parse_options lenient;
  lenient.allow_invalid_utf8 = true;
  boost::system::error_code ec;
  const json::value given = json::parse(text, ec, {}, lenient);
  if (ec || !given.is_object()) return error("is not a JSON object");
  json::object known = json::value_from(Facts{}).as_object();
  for (auto& [name, value] : known)
    if (const json::value* member = given.get_object().if_contains(name)) value = *member;
  const auto facts = json::try_value_to<Facts>(json::value(known));
  if (facts.has_error()) return error("has a member of a wrong type");
  return *facts;
}

// Names and commands are arbitrary bytes, but JSON is UTF-8.
template <class Facts>
std::string text_of(const Facts& facts) {
  return valid_utf8(json::serialize(json::value_from(facts))) + "\n";
}

}  // namespace

std::string to_json(const StartFacts& facts) {
  return text_of(facts);
}
std::string to_json(const EndFacts& facts) {
  return text_of(facts);
}

Result<StartFacts> parse_start_facts(std::string_view text) {
  return parse<StartFacts>(text);
}
Result<EndFacts> parse_end_facts(std::string_view text) {
  return parse<EndFacts>(text);
}

std::uint64_t all_lost(const std::vector<Losses>& lost) {
  std::uint64_t sum = 0;
  for (const Losses& cpu : lost) sum += cpu.events;
  return sum;
}

std::string each_option_once(std::string_view options) {
  std::vector<std::string_view> seen;
  std::string out;
  while (!options.empty()) {
    const auto comma = std::min(options.find(','), options.size());
    const std::string_view option = options.substr(0, comma);
    options.remove_prefix(std::min(comma + 1, options.size()));
    if (option.empty() || std::ranges::find(seen, option) != seen.end()) continue;
    seen.push_back(option);
    out.append(out.empty() ? "" : ",").append(option);
  }
  return out;
}

}  // namespace e4r::capture
