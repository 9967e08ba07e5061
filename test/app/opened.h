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
  explicit Opened(const std::string& name) : inputs{opened(name, listener)} {}
  [[nodiscard]] replay::Session session() {
    return {inputs.source, inputs.trace, session_options(inputs, progress)};
  }

  Progress progress{false};
  const Listener listener = {progress, [](const std::string&) {}};
  const Inputs inputs;

 private:
  static Inputs opened(const std::string& name, const Listener& listener) {
    InputOptions options;
    options.image = TRACES "/" + name;
    auto out = open_inputs(options, listener);
    if (!out.ok()) throw std::runtime_error(out.error().message);
    return *std::move(out);
  }
};

}  // namespace e4r::app::test
