// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/start.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <utility>

#include "record/bpf_readers.h"
#include "record/freeze.h"
#include "record/kernel_files.h"
#include "trace/event.h"

namespace e4r::record {
namespace {

constexpr std::array kSnapshots = {
    std::pair{Snapshot::automatic, "auto"},  std::pair{Snapshot::freeze, "freeze"},
    std::pair{Snapshot::reflink, "reflink"}, std::pair{Snapshot::unmounted, "unmounted"},
    std::pair{Snapshot::none, "none"},
};

Result<Start> take_frozen(const Volume& volume, Snapshot snapshot,
                          std::chrono::milliseconds max_freeze, Tracer& tracer) {
  if (snapshot == Snapshot::freeze) capture::StartImage::warm(volume.device_path);
  static_cast<void>(read_kernel_files(volume.device_name));  // makes the kernel load the buddies
  const Result<ReadMemory> read_memory = load_memory_reader(volume.dev);
  Start out;
  E4R_TRY(Freeze freeze, Freeze::begin(volume.mount->point, max_freeze));
  E4R_CHECK(tracer.on());
  std::optional<LoopCopy> copy;
  if (snapshot == Snapshot::reflink) {
    E4R_TRY(copy, LoopCopy::make(volume.device_name));
  } else {
    E4R_TRY(out.image, capture::StartImage::read(volume.device_path));
  }
  out.files = read_kernel_files(volume.device_name);
  if (read_memory.ok())
    out.memory = (*read_memory)(volume.mount->point);
  else
    out.memory = read_memory.error();
  E4R_CHECK(freeze.end());
  out.frozen_s = freeze.waited().count();
  if (copy) {
    E4R_TRY(out.image, capture::StartImage::read(copy->path()));
  }
  return out;
}

}  // namespace

Result<Snapshot> parse_snapshot(const std::string& name) {
  std::string known;
  for (const auto& [snapshot, text] : kSnapshots) {
    if (name == text) return snapshot;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", text);
  }
  return error("'{}' is not a way to take a start image: give one of {}", name, known);
}

const char* snapshot_name(Snapshot snapshot) {
  for (const auto& [value, text] : kSnapshots)
    if (value == snapshot) return text;
  return "";
}

Result<Start> take_start(const Volume& volume, Snapshot snapshot,
                         std::chrono::milliseconds max_freeze, Tracer& tracer) {
  if (snapshot == Snapshot::freeze || snapshot == Snapshot::reflink)
    return take_frozen(volume, snapshot, max_freeze, tracer);
  Start out;
  if (snapshot == Snapshot::unmounted) {
    E4R_TRY(out.image, capture::StartImage::read(volume.device_path));
  }
  E4R_CHECK(tracer.on());
  if (volume.mount) out.files = read_kernel_files(volume.device_name);
  return out;
}

capture::StartFacts describe_machine(const Volume& volume, TraceClock clock) {
  capture::StartFacts out;
  utsname system = {};
  ::uname(&system);
  out.kernel = system.release;
  out.kernel_version = system.version;
  out.machine = system.machine;
  out.device = fmt::format("{}:{}", trace::dev_major(volume.dev), trace::dev_minor(volume.dev));
  out.device_name = volume.device_name;
  out.mounted = volume.mount.has_value();
  if (volume.mount) {
    out.mount_point = volume.mount->point;
    out.mount_options = volume.mount->options;
  }
  out.clock = clock_name(clock);
  out.possible_cpus = possible_cpus().count;
  out.rotational = is_rotational(volume.device_name);
  return out;
}

std::string noted_tunables(const Volume& volume) {
  std::string out = read_tunables(volume.device_name);
  if (volume.mount)
    out += fmt::format("{} {} ext4 {} 0 0\n", volume.device_path, volume.mount->point,
                       volume.mount->options);
  return out;
}

}  // namespace e4r::record
