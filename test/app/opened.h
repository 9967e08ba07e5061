// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <stdexcept>
#include <string>

#include "app/inputs.h"
#include "app/setups.h"
#include "replay/session.h"

namespace e4r::app::test {

// An opened capture of traces/, with a silent listener.
class Opened {
 public:
  explicit Opened(const std::string& name)
      : options{options_for(name)}, inputs{opened(options, listener)} {}
  [[nodiscard]] replay::Session session() {
    return {inputs.source, inputs.trace, session_options(options, inputs, progress)};
  }

  Progress progress{false};
  const Listener listener = {progress, [](const std::string&) {}};
  const InputOptions options;
  const Inputs inputs;

 private:
  static InputOptions options_for(const std::string& name) {
    InputOptions out;
    out.image = TRACES "/" + name;
    return out;
  }
  static Inputs opened(const InputOptions& options, const Listener& listener) {
    auto out = open_inputs(options, listener);
    if (!out.ok()) throw std::runtime_error(out.error().message);
    return *std::move(out);
  }
};

}  // namespace e4r::app::test
