// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/capture_name.h"
#include "app/followed.h"
#include "sweep/manifest.h"
#include "sweep/run.h"

// Opens and follows the captures of a sweep.
namespace e4r::sweep {

// A capture with the data that its points share.
class OpenCapture {
 public:
  // Reads the image, the trace and the tunables recorded with it. `sets_cpus`: the sweep sets
  // possible_cpus.
  [[nodiscard]] static Result<std::unique_ptr<OpenCapture>> open(const app::CaptureName& name,
                                                                 bool sets_cpus, unsigned threads,
                                                                 const app::Listener& listener);
  OpenCapture(const OpenCapture&) = delete;
  OpenCapture& operator=(const OpenCapture&) = delete;

  // Runs the agreement pass once for all points. Returns the error of check_fidelity unless
  // `force`. Warns of what the result means for the policies.
  [[nodiscard]] Status follow(bool force, std::span<const allocator::Policy* const> policies);

  [[nodiscard]] const CaptureId& id() const { return id_; }
  // Has no session until follow().
  [[nodiscard]] Subject subject() const;

 private:
  OpenCapture(app::InputOptions options, app::Inputs inputs, const app::Listener& listener);

  app::InputOptions options_;
  app::Inputs inputs_;
  app::Listener listener_;
  CaptureId id_;
  bool followed_ = false;
  app::Followed recording_;
};

}  // namespace e4r::sweep
