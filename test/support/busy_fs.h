// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "support/model.h"
#include "trace/packed.h"

namespace e4r::test {

// A policy at work on a file system that has some files already: run `work` as long as needed.
struct BusyFs {
  BusyFs(std::string_view policy, const ModelShape& shape, std::uint64_t seed);

  ModelFs fs;
  ModelFiles old;  // moved into `work`
  Rig rig;
  Workload work;
};

// The events as a session takes them.
[[nodiscard]] trace::PackedTrace packed_trace(std::span<const trace::Event> events,
                                              trace::Generation generation);

}  // namespace e4r::test
