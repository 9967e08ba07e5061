// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/inputs.h"

#include "app/setups.h"
#include "util/units.h"

namespace e4r::sweep {
namespace {

// Shows the progress of following the capture. Later the sweep itself counts points.
replay::SessionOptions quiet_session(const app::InputOptions& options, const app::Inputs& inputs,
                                     Progress& progress, const bool& followed) {
  replay::SessionOptions out = app::session_options(options, inputs, progress);
  if (out.progress)
    out.progress = [show = std::move(out.progress), &followed, name = options.image](
                       std::string_view what, std::uint64_t events) {
      return followed || show(fmt::format("{}: {}", name, what), events);
    };
  return out;
}

}  // namespace

OpenCapture::OpenCapture(app::InputOptions options, app::Inputs inputs,
                         const app::Listener& listener)
    : options_(std::move(options)),
      inputs_(std::move(inputs)),
      listener_(listener),
      recording_(options_, inputs_,
                 quiet_session(options_, inputs_, listener_.progress, followed_)) {}

Result<std::unique_ptr<OpenCapture>> OpenCapture::open(const app::CaptureName& name, bool sets_cpus,
                                                       unsigned threads,
                                                       const app::Listener& listener) {
  app::InputOptions options = app::input_options(name, threads);
  if (sets_cpus) options.settings = {"possible_cpus=0"};  // skips the search for its value
  CaptureId id;
  id.name = name.name;
  E4R_CHECK(identify_trace(name.trace.empty() ? name.image : name.trace, id));
  E4R_TRY(app::Inputs inputs, open_inputs(options, listener));
  id.image_sum = source_sum(inputs.source);
  id.recorded = inputs.recorded;
  std::unique_ptr<OpenCapture> out(
      new OpenCapture(std::move(options), std::move(inputs), listener));
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
          [this](const allocator::Policy& policy, const allocator::Tunables& tunables) {
            return app::make_setup(policy, tunables, inputs_);
          }};
}

}  // namespace e4r::sweep
