// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/trial.h"

#include <algorithm>
#include <cmath>

#include "app/ageing.h"
#include "app/deciders.h"
#include "app/setups.h"
#include "guest/guest.h"
#include "guest/kernel_file.h"

namespace e4r::hunt {
namespace {

using review::Outcome;

constexpr std::string_view kSteps = "steps";

// All that files can have.
std::vector<std::uint32_t> inodes_of(const Start& start, bool one_directory) {
  const image::SuperblockInfo& superblock = start.superblock();
  if (!one_directory) return app::spread_inodes(superblock, start.source().geometry);
  std::vector<std::uint32_t> out;
  for (std::uint32_t ino = std::max(superblock.first_inode, 11u) + 1;
       ino <= superblock.inodes_count; ++ino)
    out.push_back(ino);
  return out;
}

// How many slots they use.
std::size_t slots_of(const std::vector<age::Operation>& operations) {
  std::size_t out = 0;
  for (const age::Operation& operation : operations)
    out = std::max<std::size_t>(out, operation.slot + std::size_t{1});
  return out;
}

// All figures that there can be.
std::vector<review::Figure> all_figures() {
  allocator::Decision timed;
  timed.ns = 1;
  Outcome any;
  any.groups_considered = any.extents_scanned = 0;
  any.times.add(timed);
  any.files = {.files = 1, .extents = 1, .blocks = 1, .best_extents = 1};
  any.layout.successors = any.layout.following = 1;
  return review::figures_of(any, any, 4096);
}

// Whether a figure is the sum of what searches cost.
bool is_cost(const std::string& key) {
  return key == kSteps || key == "groups_considered" || key == "extents_scanned";
}

std::optional<double> steps_of(const Outcome& outcome) {
  if (!outcome.groups_considered || !outcome.extents_scanned) return std::nullopt;
  return static_cast<double>(*outcome.groups_considered + *outcome.extents_scanned);
}

struct Values {
  std::optional<double> base, with;
  bool higher_is_better = false;
};

Values values_of(const Objective& objective, const Trial& trial, std::uint32_t block_size) {
  if (objective.key == kSteps) return {steps_of(trial.base), steps_of(trial.with), false};
  for (const review::Figure& figure : review::figures_of(trial.base, trial.with, block_size))
    if (figure.key == objective.key)
      return {report::number_of(figure.base), report::number_of(figure.with),
              figure.better == report::Better::higher};
  return {};
}

double score_of(const Objective& objective, const Trial& trial, bool higher_is_better) {
  constexpr double kLeastSteps = 0.1;  // a request
  const bool cost = is_cost(objective.key);
  const double more = cost ? kLeastSteps * static_cast<double>(trial.base.requests) : 0;
  const double least = cost ? 1 : 0.001;  // of what is divided by
  const double base = std::max(trial.base_value + more, least);
  const double with = std::max(trial.with_value + more, least);
  return higher_is_better ? std::log2(base / with) : std::log2(with / base);
}

bool is_time(const Objective& objective) {
  return objective.key.starts_with("decision_ns/");
}

}  // namespace

Result<Objective> find_objective(const std::string& key) {
  if (key == kSteps) return Objective{key, "groups considered and extents scanned"};
  const std::string wanted = key == "ns" ? "decision_ns/mean" : key;
  std::string known = std::string(kSteps) + ", ns";
  for (const review::Figure& figure : all_figures()) {
    if (figure.better == report::Better::none) continue;
    if (figure.key == wanted) return Objective{figure.key, figure.label};
    known += ", " + figure.key;
  }
  return error("unknown objective '{}': known are {}", key, known);
}

bool measure(const Objective& objective, std::uint32_t block_size, Trial& trial) {
  const Values values = values_of(objective, trial, block_size);
  if (!values.base || !values.with) return false;
  trial.higher_is_better = values.higher_is_better;
  trial.base_value = *values.base;
  trial.with_value = *values.with;
  trial.alike = is_time(objective) && trial.base.requests == trial.with.requests &&
                trial.base.decisions_hash == trial.with.decisions_hash;
  trial.score = trial.alike ? 0 : score_of(objective, trial, values.higher_is_better);
  return true;
}

Scene scene_of(const Candidate& candidate, std::shared_ptr<const Start> start) {
  // So that no trial takes long: block by block, every block is a request.
  constexpr std::uint64_t kMostDelayed = 1 << 18, kMostDirect = 1 << 14;
  Scene out;
  out.start = std::move(start);
  out.writing = candidate.writing;
  out.inodes = inodes_of(*out.start, candidate.one_directory);
  out.settings = candidate.settings;
  Room room;
  room.blocks = out.start->free_blocks();
  room.block_size = candidate.origin.block_size;
  room.slots = static_cast<std::uint32_t>(out.inodes.size());
  room.most = out.writing == age::Writing::delayed ? kMostDelayed : kMostDirect;
  out.operations = draw_operations(candidate.mix, room);
  out.inodes.resize(slots_of(out.operations));
  return out;
}

Result<allocator::Tunables> tunables_of(const Scene& scene, const review::Side& side) {
  allocator::Tunables out = allocator::defaults_for(scene.start->source().geometry);
  out.possible_cpus = 1;
  E4R_CHECK(app::apply_settings(out, scene.settings));
  E4R_CHECK(app::apply_settings(out, side.settings));
  return out;
}

Result<Outcome> play(const Scene& scene, const review::Side& side,
                     std::vector<trace::Event>* events) {
  const state::Source& source = scene.start->source();
  E4R_TRY(const allocator::Tunables tunables, tunables_of(scene, side));
  std::string path;  // models need none
  if (guest::is_kernel(*side.policy)) {
    E4R_TRY(path, scene.start->path());
  }
  E4R_TRY(const auto decider,
          app::make_decider(*side.policy, tunables, {source, path, "the file system"}, true));
  std::optional<Recorder> recorder;
  if (events != nullptr) recorder.emplace(*decider);
  allocator::Decider& asked = recorder ? *recorder : *decider;
  age::AgerOptions options;
  options.writing = scene.writing;
  options.inodes = scene.inodes;
  age::Ager ager(asked, source, std::move(options));
  for (const age::Operation& operation : scene.operations) E4R_CHECK(ager.apply(operation));
  E4R_CHECK(asked.finish());
  app::AgedFigures figures;
  app::add_figures(ager, source, figures);
  if (recorder) *events = recorder->events();
  return review::outcome_of(figures);
}

namespace {

// Plays both. False: it is no case.
Result<bool> play_both(const Scene& scene, const Match& match, Trial& trial) {
  const std::array<std::pair<const review::Side*, Outcome*>, 2> sides = {
      {{&match.base, &trial.base}, {&match.with, &trial.with}}};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    auto outcome = play(scene, *sides[i].first);
    if (!outcome.ok() && guest::is_kernels_fault(outcome.error())) {
      trial.failed[i] = outcome.error().message;
      trial.score = i == 0 ? kNoScore : kWorstScore;
      return true;
    }
    if (!outcome.ok()) {
      if (outcome.error().message.starts_with("no space is left")) return false;
      return outcome.error();
    }
    *sides[i].second = *std::move(outcome);
    // Few requests show no cost, but a kernel may fail at the first one.
    if (trial.base.requests < match.least_requests && !guest::is_kernel(*match.with.policy))
      return false;
  }
  return std::min(trial.base.requests, trial.with.requests) >= match.least_requests &&
         measure(match.objective, scene.start->superblock().block_size(), trial);
}

// Plays both once more, twice, in turn: times differ from run to run, and the worst of many trials
// would be the one that was disturbed most. Of each side the run in the middle stays.
Status settle(const Scene& scene, const Match& match, Trial& trial) {
  constexpr int kMore = 2;
  std::vector<Trial> all = {trial};
  for (int turn = 0; turn < kMore; ++turn) {
    Trial& again = all.emplace_back();
    E4R_TRY(const bool is_case, play_both(scene, match, again));
    if (again.has_failed()) {
      trial = std::move(again);
      return {};
    }
    if (!is_case) all.pop_back();
  }
  std::ranges::stable_sort(all, {}, &Trial::base_value);
  trial.base = all[all.size() / 2].base;
  std::ranges::stable_sort(all, {}, &Trial::with_value);
  trial.with = all[all.size() / 2].with;
  static_cast<void>(measure(match.objective, scene.start->superblock().block_size(), trial));
  return {};
}

}  // namespace

Stoppable::Asked stop_of(const Match& match) {
  return [stop = match.stop] { return stop != nullptr && stop->load(); };
}

Result<std::optional<Trial>> try_scene(const Scene& scene, const Match& match) {
  Trial trial;
  E4R_TRY(const bool is_case, play_both(scene, match, trial));
  if (!is_case) return std::optional<Trial>();
  if (is_time(match.objective) && trial.score > 0 && !trial.has_failed())
    E4R_CHECK(settle(scene, match, trial));
  return std::optional<Trial>(std::move(trial));
}

}  // namespace e4r::hunt
