// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/candidate.h"

#include <algorithm>

#include "age/profile.h"
#include "util/units.h"

namespace e4r::hunt {
namespace {

// The parameters that are not tunables, in the order of choosing and printing.
enum Part : std::size_t {
  kSize,
  kBlockSize,
  kTurnover,
  kUtilisation,
  kProfile,
  kAgeSeed,
  kPiece,
  kGap,
  kOperations,
  kFileSize,
  kSpread,
  kAppends,
  kRemovals,
  kSyncEvery,
  kWriting,
  kDirectories,
  kSeed,
  kParts,
};

std::vector<std::uint64_t> first_numbers(std::uint64_t count) {
  std::vector<std::uint64_t> out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = i;
  return out;
}

std::vector<Parameter> file_system_parameters() {
  Parameter profile = {"profile", "", {}, {}, false, 0};
  for (const age::Profile& one : age::profiles()) {
    profile.values.push_back(profile.values.size());
    profile.words.push_back(one.name);
  }
  return {
      {"size",
       "MiB",
       {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536},
       {},
       false,
       0},
      {"block_size", "bytes", {4096, 2048, 1024}, {}, false, 0.6},
      {"turnover", "% of the size", {0, 10, 25, 50, 100, 200}, {}, false, 0.4},
      {"utilisation", "%", {50, 60, 70, 80, 90, 95}, {}, false, 0},
      std::move(profile),
      {"age_seed", "", first_numbers(32), {}, false, 0},
      {"free_extents_up_to",
       "blocks",
       {0,   2048, 1024, 900, 768, 600, 512, 400, 384, 300, 256, 192,
        128, 96,   64,   48,  32,  24,  16,  12,  8,   6,   4},
       {},
       false,
       0.3},
      {"gap", "blocks", {1, 2, 8, 16, 32, 64, 128, 256, 424, 512, 1024}, {}, false, 0.3},
  };
}

std::vector<Parameter> workload_parameters() {
  return {
      {"operations", "", {16, 32, 64, 128, 256, 512, 1024, 2048, 4096}, {}, false, 0},
      {"file_size",
       "KiB",
       {4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384},
       {},
       false,
       0},
      {"spread", "powers of two", {0, 1, 2, 3, 4}, {}, false, 0.4},
      {"appends", "%", {0, 10, 25, 50, 75, 90}, {}, false, 0.3},
      {"removals", "%", {0, 10, 20, 30, 40, 50}, {}, false, 0.3},
      {"sync_every", "operations", {0, 1000, 500, 200, 100, 50, 20, 10, 5, 2, 1}, {}, false, 0},
      {"writing", "", {0, 1}, {"delalloc", "nodelalloc"}, false, 0},
      {"directories", "", {0, 1}, {"spread", "one"}, false, 0},
      {"seed", "", first_numbers(32), {}, false, 0},
  };
}

// Means the value of the mount.
constexpr std::uint64_t kAsMounted = UINT64_MAX;

std::vector<Parameter> tunable_parameters() {
  const auto tunable = [](const char* name, std::vector<std::uint64_t> values) {
    values.insert(values.begin(), kAsMounted);
    return Parameter{name, "", std::move(values), {}, true, 0.6};
  };
  std::vector<Parameter> out;
  out.push_back(tunable(
      "mb_stripe", {16, 32, 48, 64, 96, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024}));
  out.push_back(tunable("mb_group_prealloc", {64, 128, 256, 1024, 2048}));
  out.push_back(tunable("mb_stream_req", {1, 4, 64, 256}));
  out.push_back(tunable("mb_max_to_scan", {1, 10, 50, 1000}));
  out.push_back(tunable("mb_max_linear_groups", {4, 16, 64}));
  out.push_back(tunable("mb_order2_req", {4, 6, 9}));
  return out;
}

std::string names_of(const std::vector<Parameter>& parameters) {
  std::string out;
  for (const Parameter& parameter : parameters) out += (out.empty() ? "" : ", ") + parameter.name;
  return out;
}

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

}  // namespace

Result<Space> Space::create(std::uint64_t largest, const std::vector<std::string>& tunables) {
  Space out;
  out.parameters_ = file_system_parameters();
  std::ranges::move(workload_parameters(), std::back_inserter(out.parameters_));
  std::vector<std::uint64_t>& sizes = out.parameters_[kSize].values;
  if (largest < sizes[0] * kMiB)
    return error("{} is too small: give {} or more", format_size(largest),
                 format_size(sizes[0] * kMiB));
  std::erase_if(sizes, [largest](std::uint64_t size) { return size * kMiB > largest; });
  std::vector<Parameter> known = tunable_parameters();
  for (const std::string& name : tunables) {
    const auto found = std::ranges::find(known, name, &Parameter::name);
    if (found == known.end()) return error("{}: choose from {}", name, names_of(known));
    out.parameters_.push_back(std::move(*found));
    known.erase(found);
  }
  return out;
}

Candidate Space::candidate(const Levels& levels) const {
  const auto value = [&](std::size_t part) { return parameters_[part].values[levels[part]]; };
  Candidate out;
  Origin& origin = out.origin;
  origin.bytes = value(kSize) * kMiB;
  origin.block_size = narrow(value(kBlockSize));
  origin.turnover = narrow(value(kTurnover));
  if (origin.turnover > 0) {  // for a new file system these have no meaning
    origin.utilisation = narrow(value(kUtilisation));
    origin.profile = value(kProfile);
    origin.age_seed = narrow(value(kAgeSeed));
  }
  origin.piece = narrow(value(kPiece));
  if (origin.piece > 0) origin.gap = narrow(value(kGap));
  out.mix = {.file_kb = value(kFileSize),
             .spread = narrow(value(kSpread)),
             .appends = narrow(value(kAppends)),
             .removals = narrow(value(kRemovals)),
             .sync_every = narrow(value(kSyncEvery)),
             .operations = narrow(value(kOperations)),
             .seed = narrow(value(kSeed))};
  out.writing = value(kWriting) == 0 ? age::Writing::delayed : age::Writing::direct;
  out.one_directory = value(kDirectories) == 1;
  for (std::size_t i = kParts; i < parameters_.size(); ++i)
    if (levels[i] != 0) out.settings.push_back(text(i, levels[i]));
  return out;
}

Levels Space::levels(std::span<const double> point) const {
  Levels out(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const double count = static_cast<double>(parameter.values.size());
    const double plain = std::max(parameter.plain, 1 / count);
    const double at = std::clamp(point[i], 0.0, 1.0);
    const double level = at < plain ? 0 : 1 + (at - plain) / (1 - plain) * (count - 1);
    out[i] = static_cast<std::uint32_t>(std::min(level, count - 1));
  }
  return out;
}

std::string Space::text(std::size_t index, std::uint32_t level) const {
  const Parameter& parameter = parameters_[index];
  const std::uint64_t value = parameter.values[level];
  if (parameter.tunable)
    return level == 0 ? parameter.name + " as mounted"
                      : fmt::format("{}={}", parameter.name, value);
  if (!parameter.words.empty()) return parameter.words[value];
  return parameter.unit.empty() ? fmt::format("{}", value)
                                : fmt::format("{} {}", value, parameter.unit);
}

}  // namespace e4r::hunt
