// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/trial.h"

#include <algorithm>
#include <cmath>

#include "app/setups.h"
#include "capture/capture.h"
#include "capture/image_parts.h"
#include "guest/guest.h"
#include "guest/kernel_file.h"
#include "trace/trace.h"
#include "trace/writer.h"

namespace e4r::hunt {
namespace {

using results::Outcome;

// The number of slots that the operations use.
std::size_t slots_of(const std::vector<age::Operation>& operations) {
  std::size_t out = 0;
  for (const age::Operation& operation : operations)
    out = std::max<std::size_t>(out, operation.slot + std::size_t{1});
  return out;
}

double score_of(const results::Row& objective, const Trial& trial) {
  constexpr double kLeastSteps = 0.1;  // per request
  const bool steps = objective.unit == results::Unit::steps;
  const double more = steps ? kLeastSteps * static_cast<double>(trial.base.tally.requests) : 0;
  const double least = steps ? 1 : 0.001;  // lower limit of the divisor
  const double base = std::max(trial.base_value + more, least);
  const double with = std::max(trial.with_value + more, least);
  return trial.higher_is_better ? std::log2(base / with) : std::log2(with / base);
}

}  // namespace

Result<const results::Row*> find_objective(std::string_view key) {
  const std::string_view wanted = key == "ns" ? review::kMeanTime : key;
  std::string known = "steps, ns";
  for (const results::Row& row : results::rows(results::Reporter::hunt)) {
    if (row.better == results::Better::none) continue;
    if (row.key == wanted) return &row;
    if (row.key != "steps") known += ", " + row.key;
  }
  return error("unknown objective '{}': choose from {}", key, known);
}

bool measure(const results::Row& objective, Trial& trial) {
  const auto base = results::number_of(objective.of(trial.base));
  const auto with = results::number_of(objective.of(trial.with));
  if (!base || !with) return false;
  trial.higher_is_better = objective.better == results::Better::higher;
  trial.base_value = *base;
  trial.with_value = *with;
  trial.alike = objective.is_time() && trial.base.decided_as(trial.with);
  trial.score = trial.alike ? 0 : score_of(objective, trial);
  return true;
}

Scene scene_of(const Candidate& candidate, std::shared_ptr<const Start> start) {
  // The most blocks that a trial writes. They limit its time: with nodelalloc, every block is a
  // request.
  constexpr std::uint64_t kMostDelayed = 1 << 18, kMostDirect = 1 << 14;
  Scene out;
  out.start = std::move(start);
  out.writing = candidate.writing;
  out.inodes = out.start->inodes(candidate.one_directory);
  out.settings = candidate.settings;
  Room room;
  room.blocks = out.start->free_blocks();
  room.block_size = out.start->superblock().block_size();
  room.slots = static_cast<std::uint32_t>(out.inodes.size());
  room.most = out.writing == age::Writing::delayed ? kMostDelayed : kMostDirect;
  out.operations = draw_operations(candidate.mix, room);
  out.inodes.resize(slots_of(out.operations));
  return out;
}

Result<allocator::Tunables> tunables_of(const Scene& scene, const review::Side& side) {
  allocator::Tunables out = scene.start->tunables();
  out.possible_cpus = 1;
  E4R_CHECK(app::apply_settings(out, scene.settings));
  E4R_CHECK(app::apply_settings(out, side.settings));
  return out;
}

Result<Outcome> play(const Scene& scene, const review::Side& side,
                     std::vector<trace::Event>* events) {
  const state::Source& source = scene.start->source();
  E4R_TRY(const allocator::Tunables tunables, tunables_of(scene, side));
  std::string path;  // not needed for models
  if (guest::is_kernel(*side.policy)) {
    E4R_TRY(path, scene.start->path());
  }
  E4R_TRY(const auto decider,
          app::make_decider(*side.policy, tunables, {source, path, "the file system"}, true));
  std::optional<conformance::RecordingDecider> recorder;
  if (events != nullptr) recorder.emplace(*decider);
  allocator::Decider& asked = recorder ? *recorder : *decider;
  age::AgerOptions options;
  options.writing = scene.writing;
  options.inodes = scene.inodes;
  age::Ager ager(asked, source, std::move(options));
  for (const age::Operation& operation : scene.operations) E4R_CHECK(ager.apply(operation));
  E4R_CHECK(asked.finish());
  if (recorder) *events = recorder->events();
  return results::outcome_of(ager, source.geometry);
}

namespace {

// Plays the scene under both policies. Returns false if it does not count as a case.
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
    // Few requests cannot show a cost, but a kernel may fail at the first request.
    if (trial.base.tally.requests < match.least_requests && !guest::is_kernel(*match.with.policy))
      return false;
  }
  return std::min(trial.base.tally.requests, trial.with.tally.requests) >= match.least_requests &&
         measure(*match.objective, trial);
}

// Plays both policies twice more, in turn, and keeps the median run of each. Times differ from run
// to run, and without this the worst of many trials would be the one that was disturbed most.
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
  static_cast<void>(measure(*match.objective, trial));
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
  if (match.objective->is_time() && trial.score > 0 && !trial.has_failed())
    E4R_CHECK(settle(scene, match, trial));
  return std::optional<Trial>(std::move(trial));
}

namespace {

namespace names = capture::text_name;

std::string tunables_text(const allocator::Tunables& tunables) {
  std::string out;
  for (const allocator::TunableInfo& info : allocator::tunable_table())
    if (!info.own && info.member != &allocator::Tunables::possible_cpus)
      out += fmt::format("{}:{}\n", info.name, tunables.*(info.member));
  return out;
}

trace::TraceSummary summary_of(const std::vector<trace::Event>& events,
                               const allocator::Policy& policy) {
  trace::TraceSummary out;
  out.format = out.recorded_as = trace::Format::e4t;
  out.generation = conformance::generation_of(policy);
  for (const trace::Event& event : events) static_cast<void>(out.add(event, nullptr));
  return out;
}

Status write_all_parts(capture::CaptureWriter& writer, const Scene& scene, const review::Side& side,
                       const Maker& maker, const std::vector<trace::Event>& events) {
  capture::StartFacts start;
  start.recorder = maker.program + ", generated by a hunt";
  start.kernel = conformance::release_of(*side.policy);
  start.machine = "model";
  start.device_name = "none";
  start.command = maker.command;
  start.clock = "count";
  start.events = "full";
  start.snapshot = "unmounted";
  E4R_TRY(const allocator::Tunables tunables, tunables_of(scene, side));
  start.possible_cpus = static_cast<std::uint32_t>(tunables.possible_cpus);
  E4R_CHECK(writer.start(start));
  E4R_CHECK(writer.text(names::kTunables, tunables_text(tunables)));
  E4R_TRY(const std::string path, scene.start->path());
  E4R_TRY(const auto image, capture::StartImage::read(path));
  E4R_CHECK(image.pack([&writer](std::string_view part) { return writer.image(part); }));
  E4R_CHECK(writer.events(events, conformance::generation_of(*side.policy)));
  E4R_CHECK(writer.end_events(summary_of(events, *side.policy)));
  capture::EndFacts end;
  end.reason = "the operations ended";
  end.events = events.size();
  end.quiet = true;
  return writer.finish(end);
}

}  // namespace

Result<std::uint64_t> write_case(const Scene& scene, const review::Side& side, const Maker& maker,
                                 const OutputName& output) {
  std::vector<trace::Event> events;
  E4R_TRY(const results::Outcome played, play(scene, side, &events));
  E4R_TRY(auto file, trace::OutputFile::create(output));
  E4R_TRY(const auto writer, capture::CaptureWriter::create(std::move(file)));
  E4R_CHECK(write_all_parts(*writer, scene, side, maker, events));
  return events.size();
}

}  // namespace e4r::hunt
