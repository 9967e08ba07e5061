// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <array>
#include <functional>
#include <sstream>

#include "age/job.h"
#include "age/profile.h"
#include "util/units.h"

namespace e4r::age {
namespace {

Result<bool> parse_yes(std::string_view text) {
  if (text == "yes" || text == "1") return true;
  if (text == "no" || text == "0") return false;
  return error("'{}' is neither yes nor no", text);
}

Status take_space(std::string_view value, Job& job) {
  if (value == "none" || value == "whole") {
    job.space = value == "none" ? Job::Space::none : Job::Space::extend;
    return {};
  }
  const auto bytes = parse_size(value);
  if (!bytes.ok() || *bytes == 0)
    return error("'{}': give none, whole, or how much to reserve at a time, such as 128K", value);
  job.space = Job::Space::ahead;
  job.ahead = *bytes;
  return {};
}

// Collects the settings that the words give.
struct Words {
  Wanted wanted;
  Job job;
  bool of_job = false;  // some word was for a job and not for a profile
};

struct Word {
  std::string_view key;
  bool of_job = false, of_profile = false;
  std::function<Status(const std::string& value, Words& out)> take;
};

// A word that sets a number or a size.
template <class Parse>
Word number(std::string_view key, std::uint64_t Job::*member, Parse parse) {
  return {key, true, false, [member, parse](const std::string& value, Words& out) -> Status {
            E4R_TRY(out.job.*member, parse(value));
            return {};
          }};
}

Word yes_no(std::string_view key, bool Job::*member) {
  return {key, true, false, [member](const std::string& value, Words& out) -> Status {
            E4R_TRY(out.job.*member, parse_yes(value));
            return {};
          }};
}

Word part_of_until(std::string_view key) {
  return {key, false, true, [key](const std::string& value, Words& out) -> Status {
            std::string& until = out.wanted.until;
            until += fmt::format("{}{} {}", until.empty() ? "" : ", ", key, value);
            return parse_until(until).ok() ? Status() : Status(parse_until(until).error());
          }};
}

const std::vector<Word>& words() {
  static const std::vector<Word> kWords = {
      number("files", &Job::files, parse_u64),
      number("size", &Job::size, parse_size),
      number("writers", &Job::writers, parse_u64),
      number("bs", &Job::bs, parse_size),
      {"fallocate", true, false,
       [](const std::string& value, Words& out) { return take_space(value, out.job); }},
      yes_no("direct", &Job::direct),
      yes_no("random", &Job::random),
      number("fsync", &Job::fsync, parse_u64),
      {"profile", false, true,
       [](const std::string& value, Words& out) -> Status {
         E4R_TRY([[maybe_unused]] const Profile profile, find_profile(value));
         out.wanted.profile = value;
         return {};
       }},
      part_of_until("utilisation"),
      part_of_until("turnover"),
      {"seed", true, true,
       [](const std::string& value, Words& out) -> Status {
         E4R_TRY(out.wanted.seed, parse_u64(value));
         out.job.seed = out.wanted.seed;
         return {};
       }},
      {"spread", true, true,
       [](const std::string& value, Words& out) -> Status {
         E4R_TRY(out.wanted.spread, parse_yes(value));
         return {};
       }},
  };
  return kWords;
}

std::string known_words() {
  std::string out;
  for (const Word& word : words()) out += fmt::format("{}{}", out.empty() ? "" : ", ", word.key);
  return out;
}

}  // namespace

Result<Wanted> parse_job_words(std::string_view text) {
  Words out;
  out.job.split = true;
  std::istringstream parts{std::string(text)};
  std::vector<std::string> seen;
  bool any = false;
  for (std::string part; parts >> part; any = true) {
    // The name of a profile may be given without "profile=".
    if (!any && part.find('=') == std::string::npos) part.insert(0, "profile=");
    const auto equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const auto word = std::ranges::find(words(), key, &Word::key);
    if (equals == std::string::npos || word == words().end())
      return error("'{}': choose from {}, each as NAME=VALUE", part, known_words());
    if (std::ranges::find(seen, key) != seen.end())
      return error("'{}': {} is given twice", part, key);
    seen.push_back(key);
    if (const Status taken = word->take(part.substr(equals + 1), out); !taken.ok())
      return error("{}{}", taken.error().message.starts_with(key) ? "" : key + ": ",
                   taken.error().message);
    out.of_job |= word->of_job && !word->of_profile;
    if (out.of_job && !out.wanted.profile.empty())
      return error("{}: a profile has files and sizes of its own: give one of them", key);
  }
  if (out.wanted.profile.empty() && out.job.size == 0)
    return error(
        "give the files, such as 'files=10000 size=64K writers=8', a profile, or FILE.fio");
  if (out.wanted.profile.empty() && !out.wanted.until.empty())
    return error("utilisation and turnover are for a profile: give profile=NAME, too");
  if (out.wanted.profile.empty()) out.wanted.jobs.push_back(out.job);
  return out.wanted;
}

}  // namespace e4r::age
