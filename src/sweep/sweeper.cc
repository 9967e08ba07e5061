// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/sweeper.h"

#include "app/setups.h"
#include "sweep/plan.h"
#include "sweep/ranking.h"
#include "util/units.h"

namespace e4r::sweep {
namespace {

// Shows progress only while the capture is being followed. Later the sweep itself counts points.
replay::SessionOptions quiet_session(const app::Inputs& inputs, Progress& progress,
                                     const bool& followed) {
  replay::SessionOptions out = app::session_options(inputs, progress);
  if (out.progress)
    out.progress = [show = std::move(out.progress), &followed, name = inputs.options.image](
                       std::string_view what, std::uint64_t events) {
      return followed || show(fmt::format("{}: {}", name, what), events);
    };
  return out;
}

}  // namespace

OpenCapture::OpenCapture(app::Inputs inputs, const app::Listener& listener)
    : inputs_(std::move(inputs)),
      listener_(listener),
      recording_(inputs_, quiet_session(inputs_, listener_.progress, followed_)) {}

Result<std::unique_ptr<OpenCapture>> OpenCapture::open(const app::CaptureName& name, bool sets_cpus,
                                                       unsigned threads,
                                                       const app::Listener& listener) {
  app::InputOptions options = app::input_options(name, threads);
  options.finds_cpus = !sets_cpus;
  CaptureId id;
  id.name = name.name;
  E4R_CHECK(identify_trace(name.trace.empty() ? name.image : name.trace, id));
  E4R_TRY(app::Inputs inputs, open_inputs(options, listener));
  id.image_sum = source_sum(inputs.source);
  id.recorded = inputs.recorded;
  std::unique_ptr<OpenCapture> out(new OpenCapture(std::move(inputs), listener));
  out->id_ = std::move(id);
  return out;
}

Status OpenCapture::follow(bool force, std::span<const allocator::Policy* const> policies) {
  Status status = recording_.follow(force, policies, listener_);
  followed_ = true;
  return status;
}

Subject OpenCapture::subject() const {
  return {followed_ ? &recording_.session() : nullptr, inputs_.recorded,
          report::doubt_text(recording_.report()),
          [this](const allocator::Policy& policy, const allocator::Tunables& tunables) {
            return app::make_setup(policy, tunables, inputs_);
          }};
}

namespace {

// Returns for example "12 of 100 points, 1:07 left".
std::string status_line(std::uint64_t done, std::uint64_t now, std::uint64_t all, double seconds) {
  std::string text = fmt::format("{} of {} points", format_count(done), format_count(all));
  if (now == 0) return text;
  const auto left = static_cast<std::uint64_t>(seconds / static_cast<double>(now) *
                                               static_cast<double>(all - done));
  return text + fmt::format(", {}:{:02} left", left / 60, left % 60);
}

}  // namespace

Sweeper::Sweeper(SweepOptions options, Plan plan, const PointRange& range,
                 const results::Row& metric, const app::Listener& listener)
    : options_(std::move(options)),
      plan_(std::move(plan)),
      range_(range),
      metric_(metric),
      listener_(listener) {
  memory_.lines.resize(plan_.points.size());
}

Result<std::unique_ptr<Sweeper>> Sweeper::open(SweepOptions options, Plan plan,
                                               const PointRange& range, const results::Row& metric,
                                               const app::Listener& listener) {
  std::unique_ptr<Sweeper> out(
      new Sweeper(std::move(options), std::move(plan), range, metric, listener));
  E4R_CHECK(out->open_captures());
  E4R_CHECK(out->look());
  return out;
}

Status Sweeper::open_captures() {
  bool sets_cpus = false;
  for (const Axis& axis : plan_.spec.axes)
    sets_cpus = sets_cpus || axis.tunable->name == "possible_cpus";
  std::vector<app::CaptureName> names;
  for (const std::string& word : plan_.spec.captures) {
    E4R_TRY(app::CaptureName name, app::parse_capture(word));
    names.push_back(std::move(name));
  }
  for (const app::CaptureName& name : names) {
    E4R_TRY(auto capture, OpenCapture::open(name, sets_cpus, options_.threads, listener_));
    plan_.recorded_by_capture.push_back(capture->id().recorded);
    captures_.push_back(std::move(capture));
  }
  return {};
}

Status Sweeper::look() {
  std::vector<CaptureId> ids;
  for (const auto& capture : captures_) ids.push_back(capture->id());
  E4R_TRY(const std::vector<app::PolicyFile> files, identify_policy_files(plan_.spec));
  manifest_ = manifest_text(options_.program, plan_, ids, files, range_);
  if (options_.directory.empty()) return {};
  E4R_TRY(memory_, Store::look(options_.directory, manifest_, plan_, range_, options_.resume));
  return {};
}

std::vector<std::size_t> Sweeper::missing() const {
  std::vector<std::size_t> out;
  const Lines& lines = finished().lines;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (range_.holds(i) && lines[i].empty()) out.push_back(i);
  return out;
}

Status Sweeper::follow() {
  std::vector<bool> needed(captures_.size());
  for (const std::size_t index : missing()) needed[plan_.points[index].capture] = true;
  subjects_.clear();
  for (std::size_t i = 0; i < captures_.size(); ++i) {
    if (needed[i]) E4R_CHECK(captures_[i]->follow(options_.force, plan_.spec.policies));
    subjects_.push_back(captures_[i]->subject());
  }
  return {};
}

Status Sweeper::add(std::size_t index, std::string line) {
  const std::lock_guard lock(mutex_);
  if (store_) {
    E4R_CHECK(store_->add(index, std::move(line)));
  } else {
    memory_.lines[index] = std::move(line);
    ++memory_.count;
  }
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - began_;
  const std::uint64_t done = finished().count;
  listener_.progress.show(status_line(done, done - before_, range_.count(), since.count()));
  return {};
}

Status Sweeper::run(const std::atomic<bool>& stop) {
  if (!options_.directory.empty()) {
    E4R_TRY(Store store,
            Store::begin(options_.directory, manifest_, plan_, range_, options_.resume));
    store_.emplace(std::move(store));
  }
  const std::vector<std::size_t> points = missing();
  before_ = finished().count;
  began_ = std::chrono::steady_clock::now();
  const Status ran = run_points(
      {plan_, points, subjects_, options_.threads, &stop},
      [this](std::size_t index, std::string line) { return add(index, std::move(line)); });
  listener_.progress.wipe();
  E4R_CHECK(ran);
  if (left() > 0) return store_ ? store_->suspend() : Status();  // keeps the finished points
  figures_ = figures_of(finished().lines);
  plan_.doubts = doubts_of(plan_, finished().lines);
  return store_ ? write_results(*store_, plan_, figures_, metric_) : Status();
}

}  // namespace e4r::sweep
