// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/profile.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include "util/file.h"
#include "util/units.h"

namespace e4r::age {
namespace {

// Histograms from published studies, with the steps of Geriatrix (USENIX ATC 2018). The shares of
// appends and rewrites are our own assumptions, since a snapshot of a file system does not show
// them.
std::vector<Profile> make_profiles() {  // NOLINT(readability-function-size): a table
  constexpr double kAppends = 0.10, kRewrites = 0.05;
  constexpr std::uint64_t kPunch = 64 * kKiB;  // the size of Filestorm's reads and writes
  return {
      {"agrawal",
       "Agrawal et al., A Five-Year Study of File-System Metadata, FAST 2007: desktops",
       {{8, 1},
        {32, 7},
        {128, 16},
        {512, 40},
        {2048, 50},
        {8192, 46},
        {32768, 35},
        {131072, 20},
        {524288, 10},
        {2097152, 4},
        {8388608, 1}},
       {{10.74, 1},
        {31, 2},
        {85.98, 8},
        {240, 20},
        {687.87, 44},
        {1945.59, 75},
        {5502.98, 144},
        {15768, 146},
        {44023.9, 23},
        {122640, 1}},
       kAppends,
       kRewrites},
      {"douceur",
       "Douceur and Bolosky, A Large-Scale Study of File-System Contents, SIGMETRICS 1999: "
       "desktops",
       {{0, 180},      {2, 10},       {4, 15},       {8, 90},       {16, 25},      {32, 165},
        {64, 380},     {128, 425},    {256, 620},    {512, 880},    {1024, 1080},  {2048, 1100},
        {4096, 1000},  {8192, 1025},  {16384, 920},  {32768, 800},  {65536, 575},  {131072, 375},
        {262144, 200}, {524288, 100}, {1048576, 75}, {2097152, 20}, {4194304, 10}, {8388608, 5}},
       {{9, 25},        {18, 30},      {36, 50},       {72, 60},      {144, 80},
        {288, 90},      {576, 120},    {1152, 200},    {2304, 300},   {4608, 400},
        {9216, 600},    {18432, 1050}, {36864, 1250},  {73728, 1900}, {147456, 1800},
        {294912, 1500}, {589824, 700}, {1179648, 100}, {2359296, 30}, {4718592, 25}},
       kAppends,
       kRewrites},
      {"meyer",
       "Meyer and Bolosky, A Study of Practical Deduplication, FAST 2011: desktops",
       {{0, 100},       {1, 20},        {2, 40},        {4, 30},        {8, 30},
        {16, 100},      {32, 100},      {64, 170},      {128, 220},     {256, 400},
        {512, 680},     {1024, 1180},   {2048, 1230},   {4096, 1150},   {8192, 1020},
        {16384, 900},   {32768, 700},   {65536, 680},   {131072, 440},  {262144, 300},
        {524288, 230},  {1048576, 175}, {2097152, 130}, {4194304, 100}, {8388608, 60},
        {16777216, 40}, {33554432, 20}, {67108864, 10}, {134217728, 10}},
       {{2, 3},   {4, 90}, {6, 70},  {8, 30},  {10, 20}, {12, 10}, {14, 14}, {16, 10},
        {18, 10}, {20, 4}, {22, 4},  {24, 18}, {26, 11}, {28, 8},  {30, 2},  {32, 4},
        {34, 5},  {36, 1}, {38, 15}, {40, 8},  {42, 1},  {44, 1},  {46, 2},  {48, 1}},
       kAppends,
       kRewrites},
      {"wang-os",
       "profile wang_os of Geriatrix, Kadekodi et al., USENIX ATC 2018",
       {{0, 12},
        {512, 8},
        {1024, 9},
        {2048, 12},
        {4096, 18},
        {8192, 12},
        {16384, 10},
        {32768, 9},
        {65536, 5},
        {131072, 1},
        {262144, 1},
        {524288, 1},
        {1048576, 1},
        {2097152, 1},
        {4194304, 1}},
       {{16, 1},
        {32, 1},
        {64, 2},
        {128, 3},
        {256, 19},
        {512, 30},
        {1024, 28},
        {2048, 12},
        {4096, 1},
        {8192, 1}},
       kAppends,
       kRewrites},
      {"wang-lanl",
       "profile wang_lanl of Geriatrix, Kadekodi et al., USENIX ATC 2018",
       {{32, 1},
        {512, 1},
        {2048, 1},
        {4096, 1},
        {32768, 1},
        {65536, 1},
        {131072, 47},
        {262144, 20},
        {524288, 10},
        {1048576, 1},
        {2097152, 1}},
       {{2, 1},
        {4, 1},
        {8, 1},
        {16, 1},
        {32, 3},
        {64, 35},
        {128, 51},
        {256, 42},
        {512, 47},
        {1024, 18},
        {2048, 1},
        {4096, 1}},
       kAppends,
       kRewrites},
      // Keep this profile last, so that the indexes of the others do not change.
      {"punch",
       "Filestorm, github.com/janjurca/Filestorm: large files with holes",
       {{10240, 1}, {1 << 30, 1}},
       {{1, 1}},
       0,
       0,
       500,
       kPunch},
  };
}

bool read_number(std::istringstream& words, double& value) {
  std::string word;
  if (!(words >> word)) return false;
  const auto [end, ec] = std::from_chars(word.data(), word.data() + word.size(), value);
  return ec == std::errc() && end == word.data() + word.size() && std::isfinite(value) &&
         value >= 0;
}

// Reads the words of a line. The Error says what is wrong.
Status read_line(std::istringstream& words, Profile& profile) {
  std::string key;
  words >> key;
  double value = 0, weight = 0;
  if (!read_number(words, value)) return error("give a number of 0 or more after '{}'", key);
  if (key == "size" || key == "age") {
    std::vector<Step>& steps = key == "size" ? profile.sizes : profile.ages;
    if (!read_number(words, weight)) return error("give a weight after '{} {}'", key, value);
    if (!steps.empty() && value <= steps.back().limit)
      return error("{} {} does not come after {}", key, value, steps.back().limit);
    steps.push_back({value, weight});
  } else if (key == "append" || key == "rewrite") {
    if (value > 1) return error("{} {} is not a share of the operations: give 0 to 1", key, value);
    (key == "append" ? profile.append_share : profile.rewrite_share) = value;
  } else if (key == "sync") {
    if (value < 1) return error("sync {}: give at least 1 operation", value);
    profile.sync_every = value;
  } else if (key == "punch") {
    constexpr double kMost = 1e12;
    if (value < 1 || value > kMost)
      return error("punch {}: give the bytes on both sides of a hole, such as 65536", value);
    profile.punch = static_cast<std::uint64_t>(value);
  } else {
    return error("unknown word '{}': choose from size, age, append, rewrite, sync, punch", key);
  }
  std::string more;
  return words >> more ? error("unexpected '{}' at the end", more) : Status();
}

// Checks that files can be drawn from the profile.
Status check(const Profile& profile) {
  constexpr double kMostBytes = 1e15;
  const auto sum = [](const std::vector<Step>& steps) {
    double all = 0;
    for (const Step& step : steps) all += step.weight;
    return all;
  };
  if (sum(profile.sizes) <= 0) return error("has no file sizes: give lines such as 'size 4096 10'");
  if (profile.punch != 0 && profile.sizes.back().limit < 1) return error("has only empty files");
  if (profile.punch != 0) return {};
  if (sum(profile.ages) <= 0) return error("has no file ages: give lines such as 'age 10 1'");
  if (profile.sizes.back().limit > kMostBytes)
    return error("has files of {} bytes", profile.sizes.back().limit);
  double not_empty = 0;
  for (const Step& step : profile.sizes)
    if (step.limit >= 1) not_empty += step.weight;
  if (not_empty <= 0) return error("has only empty files");
  if (profile.ages.back().limit <= 0)
    return error("has only files of age 0: give lines such as 'age 10 1'");
  if (profile.append_share + profile.rewrite_share > 0.9)
    return error(
        "leaves too few operations that make files: append and rewrite add up to more than 0.9");
  return {};
}

}  // namespace

std::span<const Profile> profiles() {
  static const std::vector<Profile> kProfiles = make_profiles();
  return kProfiles;
}

Result<Profile> parse_profile(std::string_view text, const std::string& name) {
  Profile out;
  out.name = name;
  out.source = name;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (std::uint64_t number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    if ((words >> std::ws).eof()) continue;
    if (const Status status = read_line(words, out); !status.ok())
      return error("{}: line {}: {}", name, number, status.error().message);
  }
  if (const Status status = check(out); !status.ok())
    return error("{}: {}", name, status.error().message);
  return out;
}

Result<Profile> find_profile(const std::string& name) {
  std::string known;
  for (const Profile& profile : profiles()) {
    if (profile.name == name) return profile;
    known += (known.empty() ? "" : ", ") + profile.name;
  }
  const auto text = read_file(name);
  if (!text.ok()) return error("no profile '{}': choose from {}, or give a file", name, known);
  return parse_profile(*text, name);
}

}  // namespace e4r::age
