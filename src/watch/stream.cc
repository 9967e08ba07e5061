// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/stream.h"

#include <utility>

#include "allocator/policy.h"
#include "record/kernel_files.h"
#include "record/merger.h"
#include "record/start.h"
#include "replay/load.h"
#include "stats/mb_files.h"

namespace e4r::watch {
namespace {

constexpr record::TraceClock kClock = record::TraceClock::mono;

Status open_start(const record::Volume& volume, const record::Start& from, LiveStart& out) {
  E4R_CHECK(from.image->pack([&out](std::string_view part) { return out.bytes.add(part); }));
  image::OpenOptions open;
  open.name = volume.device_path;
  E4R_TRY(out.image, image::Image::open(out.bytes.path(), open));
  out.source = replay::source_from(*out.image);
  out.noted_tunables = record::noted_tunables(volume);
  out.tunables = allocator::defaults_for(out.source.geometry);
  if (allocator::read_recorded_tunables(out.tunables, out.noted_tunables) == 0)
    return error("{}: the kernel shows no tunables in {}", volume.device_path,
                 record::sysfs_directory(volume.device_name));
  const replay::MountFacts mount =
      replay::read_mount(out.noted_tunables, out.image->superblock().default_mount_opts);
  out.source.geometry.data_writeback = mount.data_writeback;
  out.source.geometry.discard = mount.discard;
  const auto groups = from.files.find("mb_groups");
  if (groups == from.files.end())
    return error("{}: the kernel shows no mb_groups", volume.device_path);
  E4R_TRY(out.groups, stats::parse_mb_groups(groups->second));
  if (!from.memory.ok()) return {};
  E4R_TRY(out.memory, replay::Checkpoint::parse(*from.memory));
  return {};
}

}  // namespace

Result<std::unique_ptr<Stream>> Stream::open(const StreamOptions& options) {
  std::unique_ptr<Stream> out(new Stream(options));
  E4R_CHECK(out->prepare());
  return out;
}

Status Stream::prepare() {
  E4R_TRY(volume_, record::find_volume(options_.target));
  if (!volume_.mount) return error("{}: is not mounted", options_.target);
  if (volume_.mount->read_only)
    return error("{}: is mounted read-only: nothing is allocated there", options_.target);
  E4R_TRY(record::Instance instance, record::Instance::create(volume_.device_name));
  record::TracerOptions tracing;
  tracing.dev = volume_.dev;
  tracing.clock = kClock;
  tracing.buffer_kb = options_.buffer_kb;
  E4R_TRY(tracer_, record::Tracer::create(tracing, std::move(instance)));
  return {};
}

Result<std::unique_ptr<LiveStart>> Stream::start() {
  E4R_CHECK(tracer_->off());
  E4R_CHECK(tracer_->read(true, [](std::span<trace::Event>) { return Status(); }));
  volume_.mount = record::find_mount(volume_.dev);
  if (!volume_.mount) return error("{}: is no longer mounted", options_.target);
  E4R_TRY(const record::Start from,
          record::take_start(volume_, record::Snapshot::freeze, options_.max_freeze, *tracer_));
  auto out = std::make_unique<LiveStart>();
  E4R_CHECK(open_start(volume_, from, *out));
  out->frozen_s = from.frozen_s;
  return out;
}

Status Stream::pump(Backlog& backlog, bool all) {
  if (all) E4R_CHECK(tracer_->off());
  const std::uint64_t now = now_ns();
  const std::uint64_t until = all ? now : now - std::min(now, record::Tracer::kSlackNs);
  bool any = false;
  E4R_CHECK(tracer_->read(all, [&](std::span<trace::Event> events) {
    any = true;
    backlog.add(events, until);
    return Status();
  }));
  if (!any) backlog.add({}, until);
  return {};
}

FlightNotes Stream::notes_for(const LiveStart* start, const std::string& program) const {
  FlightNotes out;
  out.start = record::describe_machine(volume_, kClock);
  out.start.recorder = program;
  out.generation = tracer_->generation();
  if (start == nullptr) return out;
  out.start.frozen_s = start->frozen_s;
  out.tunables = start->noted_tunables;
  out.image_path = start->bytes.path();
  return out;
}

std::uint64_t Stream::now_ns() {
  return record::read_clock(kClock);
}

std::uint64_t Stream::lost() const {
  return capture::all_lost(tracer_->losses());
}

}  // namespace e4r::watch
