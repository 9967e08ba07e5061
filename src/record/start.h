// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "capture/capture.h"
#include "capture/image_parts.h"
#include "record/merger.h"
#include "record/tracer.h"
#include "record/volume.h"
#include "util/status.h"

namespace e4r::record {

// The source of the start image.
enum class Snapshot : std::uint8_t {
  automatic,  // freeze if the file system is mounted, otherwise unmounted
  freeze,     // the mounted file system, frozen while its bitmaps are read
  reflink,    // a reflinked copy of the loop device's file, made during a freeze
  unmounted,  // the device, before it is mounted
  none,       // no start image: a replay needs one from another source
};
[[nodiscard]] Result<Snapshot> parse_snapshot(const std::string& name);
[[nodiscard]] const char* snapshot_name(Snapshot snapshot);

using KernelFiles = std::map<std::string, std::string>;  // see read_kernel_files()

// The state of a file system at one moment, in its image and in the kernel.
struct Start {
  std::optional<capture::StartImage> image;
  KernelFiles files;
  // What the file system held only in memory (load_memory_reader), if it was frozen.
  Result<std::string> memory = error("the file system was not frozen");
  double frozen_s = 0;  // how long writers waited
};

// Takes the state and starts tracing at the same moment. Snapshot::freeze and Snapshot::reflink
// freeze the mounted file system for at most `max_freeze`.
[[nodiscard]] Result<Start> take_start(const Volume& volume, Snapshot snapshot,
                                       std::chrono::milliseconds max_freeze, Tracer& tracer);

// A capture's facts about the running kernel, the machine and the file system.
[[nodiscard]] capture::StartFacts describe_machine(const Volume& volume, TraceClock clock);

// The tunables, and the file system's line of /proc/mounts, which also contains settings.
[[nodiscard]] std::string noted_tunables(const Volume& volume);

}  // namespace e4r::record
