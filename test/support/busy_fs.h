// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "support/model.h"
#include "trace/packed.h"

namespace e4r::test {

// A policy that serves requests on a file system that already has files. Call work.run() as often
// as needed.
struct BusyFs {
  BusyFs(std::string_view policy, const ModelShape& shape, std::uint64_t seed);

  ModelFs fs;
  ModelFiles old;  // moved into `work`
  Rig rig;
  Workload work;
};

// Packs the events into the form that a session needs.
[[nodiscard]] trace::PackedTrace packed_trace(std::span<const trace::Event> events,
                                              trace::Generation generation);

}  // namespace e4r::test
