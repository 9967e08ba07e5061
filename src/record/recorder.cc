// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <utility>

#include "capture/capture.h"
#include "capture/image_parts.h"
#include "record/bpf_readers.h"
#include "record/freeze.h"
#include "record/kernel_files.h"
#include "record/merger.h"
#include "record/probes.h"
#include "record/volume.h"
#include "trace/summary.h"
#include "trace/trace.h"
#include "util/units.h"

namespace e4r::record {
namespace {

// The longest period that is lost if the recorder is killed.
constexpr std::chrono::seconds kFlushEvery{1};

Result<Snapshot> choose_snapshot(const RecorderOptions& options, const Volume& volume) {
  const bool mounted = volume.mount.has_value();
  Snapshot snapshot = options.snapshot;
  if (snapshot == Snapshot::automatic) snapshot = mounted ? Snapshot::freeze : Snapshot::unmounted;
  if (snapshot == Snapshot::unmounted && mounted)
    return error("{}: is mounted on {}: give --snapshot freeze", options.target,
                 volume.mount->point);
  if ((snapshot == Snapshot::freeze || snapshot == Snapshot::reflink) && !mounted)
    return error("{}: is not mounted: give --snapshot unmounted", options.target);
  if (mounted && volume.mount->read_only)
    return error("{}: is mounted read-only: nothing is allocated there", options.target);
  return snapshot;
}

}  // namespace

Recorder::Recorder(const RecorderOptions& options) : options_(options) {}

Recorder::~Recorder() {
  if (!started_ && writer_) writer_->abandon();
}

void Recorder::abandon() {
  tracer_.reset();
  writer_->abandon();
}

Status Recorder::begin() {
  E4R_TRY(volume_, find_volume(options_.target));
  E4R_TRY(snapshot_, choose_snapshot(options_, volume_));
  E4R_CHECK(check_output(options_.output, volume_, notes_));
  E4R_TRY(writer_, capture::CaptureWriter::create(options_.output));
  output_ = OutputWatch(options_.output);
  E4R_CHECK(prepare_tracing());
  if (options_.settle && volume_.mount) E4R_CHECK(settle());
  watch_.emplace(volume_);
  E4R_TRY(const Start start, take_start(volume_, snapshot_, options_.max_freeze, *tracer_));
  E4R_CHECK(write_start(start));
  E4R_CHECK(output_.check());
  began_ = last_flush_ = Steady::now();
  started_ = true;
  return {};
}

Result<SoFar> Recorder::pump() {
  E4R_CHECK(take_events(false));
  if (Steady::now() - last_flush_ >= kFlushEvery) {
    last_flush_ = Steady::now();
    E4R_CHECK(output_.check());  // must come before further writes, which would hide a truncation
    E4R_CHECK(writer_->flush());
    E4R_CHECK(output_.check());
    look_around();
  }
  return SoFar{summary_.events, capture::all_lost(tracer_->losses()), writer_->bytes_written(),
               tracer_->buffer_kb()};
}

Result<capture::EndFacts> Recorder::finish(const std::string& reason,
                                           std::optional<std::int64_t> exit_status) {
  capture::EndFacts facts;
  facts.reason = reason;
  facts.exit_status = exit_status;
  facts.elapsed_s = std::chrono::duration<double>(Steady::now() - began_).count();
  look_around();
  E4R_TRY(const KernelFiles files, stop(facts));
  E4R_CHECK(output_.check());
  E4R_CHECK(take_events(true));
  tracer_->report(summary_);
  E4R_CHECK(writer_->end_events(summary_));
  for (const auto& [name, text] : files) E4R_CHECK(writer_->text("end/" + name, text));
  facts.time = format_utc(std::time(nullptr));
  facts.events = summary_.events;
  facts.unordered = facts_.ordered && saw_nothing(summary_);
  if (facts.unordered)
    notes_.push_back(
        "--events full: the probes saw no search: recorded without the order of effect");
  facts.lost = tracer_->losses();
  facts.changes = changes_;
  E4R_CHECK(output_.check());
  E4R_CHECK(writer_->finish(facts));
  E4R_CHECK(output_.check());
  if (join_.missed() > 0)
    notes_.push_back(fmt::format("--events full: nothing was seen of {} of {} requests",
                                 join_.missed(), join_.missed() + join_.completed()));
  tracer_.reset();
  return facts;
}

Status Recorder::prepare_tracing() {
  E4R_TRY(Instance instance, Instance::create(volume_.device_name));
  TracerOptions options;
  options.dev = volume_.dev;
  options.clock = options_.clock;
  options.buffer_kb = options_.buffer_kb;
  options.probes = options_.full;
  E4R_TRY(tracer_, Tracer::create(options, std::move(instance)));
  if (!tracer_->without_probes().empty())
    notes_.push_back("--events full: " + tracer_->without_probes() +
                     ": recorded without the order of effect");
  if (options_.full) see_inputs();
  return {};
}

// Records changes to the file system since the last check, for the user and for the capture.
void Recorder::look_around() {
  for (std::string& change : watch_->look()) {
    notes_.push_back(fmt::format("{}: {}", options_.target, change));
    changes_.push_back(std::move(change));
  }
}

// Starts reading inputs. If that fails, the recording continues without them.
void Recorder::see_inputs() {
  auto reader = InputReader::create(volume_.dev, options_.clock);
  if (reader.ok())
    inputs_ = *std::move(reader);
  else
    notes_.push_back("--events full: " + reader.error().message +
                     ": recorded without file sizes and open writers");
}

// Drops unused inodes from the cache, and with them their preallocations.
Status Recorder::settle() const {
  const int fd = ::open(volume_.mount->point.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    ::syncfs(fd);
    ::close(fd);
  }
  std::ofstream file("/proc/sys/vm/drop_caches");
  file << "2" << std::flush;
  return file ? Status() : error("--settle: cannot write /proc/sys/vm/drop_caches");
}

Status Recorder::write_start(const Start& start) {
  facts_ = describe(start);
  E4R_CHECK(writer_->start(facts_));
  for (const auto& [name, text] : start.files) E4R_CHECK(writer_->text("start/" + name, text));
  if (start.memory.ok())
    E4R_CHECK(writer_->text(capture::text_name::kStartMemory, *start.memory));
  else if (volume_.mount)
    notes_.push_back("preallocations from before the recording must be deduced: " +
                     start.memory.error().message);
  E4R_CHECK(writer_->text(capture::text_name::kTunables, noted_tunables(volume_)));
  if (!start.image) return {};
  image_bytes_ = start.image->bytes();
  return start.image->pack([this](std::string_view part) { return writer_->image(part); });
}

capture::StartFacts Recorder::describe(const Start& start) const {
  capture::StartFacts out = describe_machine(volume_, options_.clock);
  out.recorder = options_.program;
  out.time = format_utc(std::time(nullptr));
  out.command = options_.command;
  out.events = inputs_ ? "full" : "minimal";
  out.snapshot = snapshot_name(snapshot_);
  out.settled = options_.settle;
  out.ordered = options_.full && tracer_->without_probes().empty();
  out.frozen_s = start.frozen_s;
  return out;
}

// Stops tracing and reads the kernel's files, both at the same moment if a freeze is possible.
Result<KernelFiles> Recorder::stop(capture::EndFacts& facts) {
  KernelFiles files;
  const auto mount = find_mount(volume_.dev);
  if (mount && snapshot_ != Snapshot::none) {
    E4R_TRY(auto freeze, freeze_while_reading(mount->point));
    if (freeze) {
      E4R_CHECK(tracer_->off());
      files = read_kernel_files(volume_.device_name);
      const Status thawed = freeze->end();
      facts.quiet = thawed.ok();
      if (!thawed.ok()) note_unfrozen_end(thawed.error());
      facts.frozen_s = freeze->waited().count();
      return files;
    }
  }
  if (mount) files = read_kernel_files(volume_.device_name);
  E4R_CHECK(tracer_->off());
  return files;
}

void Recorder::note_unfrozen_end(const Error& why) {
  notes_.push_back(
      fmt::format("{}; so the kernel's files at the end do not show the moment of the last event",
                  why.message));
}

// Freezes the file system. Takes events meanwhile, because the flush before the freeze can take
// long and causes events. Returns nothing if the freeze fails.
Result<std::optional<Freeze>> Recorder::freeze_while_reading(const std::string& mount_point) {
  constexpr std::chrono::milliseconds kTick{20};
  auto frozen = std::async(std::launch::async,
                           [&] { return Freeze::begin(mount_point, options_.max_freeze); });
  Status status;
  while (frozen.wait_for(kTick) != std::future_status::ready)
    if (status.ok()) status = take_events(false);
  auto freeze = frozen.get();
  if (!status.ok()) return std::move(status).error();
  if (!freeze.ok()) {
    note_unfrozen_end(freeze.error());
    return std::optional<Freeze>();
  }
  return std::optional<Freeze>(*std::move(freeze));
}

// The tracer passes on events with a delay, so their inputs have arrived by then.
Status Recorder::take_events(bool all) {
  if (inputs_) E4R_CHECK(inputs_->read([this](const e4r_input& input) { join_.add(input); }));
  return tracer_->read(all, [this](std::span<trace::Event> events) {
    if (inputs_) join_.complete(events);
    for (const trace::Event& event : events) summary_.add(event, nullptr);
    return writer_->events(events, tracer_->generation());
  });
}

Result<std::unique_ptr<Recorder>> Recorder::start(const RecorderOptions& options) {
  std::unique_ptr<Recorder> out(new Recorder(options));
  E4R_CHECK(out->begin());
  return out;
}

}  // namespace e4r::record
