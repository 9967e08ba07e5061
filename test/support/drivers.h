// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "replay/modes.h"
#include "support/model.h"

namespace e4r::test {

enum class Driver : std::uint8_t { follow, free_run, what_if };

struct Replayed {
  std::unique_ptr<replay::Engine> engine;
  Status status;
};

// Returns a setup that verifies the invariants once per `operations` operations.
inline replay::Setup checked_every(std::uint64_t operations) {
  replay::Setup setup;
  setup.check_every = operations;
  return setup;
}

// Replays the events once. Driver::follow writes `inputs`; the other drivers read it.
inline Replayed replay_as(Driver driver, const state::Source& source,
                          const allocator::Policy& policy, const allocator::Tunables& tunables,
                          std::span<const trace::Event> events, replay::InputTable& inputs,
                          const replay::Setup& setup = checked_every(1),
                          const replay::WarmStart* warm = nullptr) {
  MemorySource stream(events);
  auto model = replay::make_model(source, policy, tunables, warm);
  const replay::TraceFacts trace = {.warm = warm != nullptr};
  Replayed out;
  if (driver == Driver::follow) {
    auto follow = std::make_unique<replay::Follow>(source, std::move(model), setup, trace);
    out.status = follow->run(stream);
    inputs = follow->take_inputs();
    out.engine = std::move(follow);
    return out;
  }
  if (driver == Driver::free_run)
    out.engine = std::make_unique<replay::FreeRun>(source, std::move(model), setup, trace, inputs);
  else
    out.engine = std::make_unique<replay::WhatIf>(source, std::move(model), setup, trace, inputs);
  out.status = out.engine->run(stream);
  return out;
}

}  // namespace e4r::test
