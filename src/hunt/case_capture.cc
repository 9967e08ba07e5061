// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/case_capture.h"

#include "capture/image_parts.h"
#include "capture/writer.h"
#include "trace/trace.h"
#include "trace/writer.h"

namespace e4r::hunt {
namespace {

namespace names = capture::text_name;

std::string tunables_text(const allocator::Tunables& tunables) {
  std::string out;
  for (const allocator::TunableInfo& info : allocator::tunable_table())
    if (!info.own && info.member != &allocator::Tunables::possible_cpus)
      out += fmt::format("{}:{}\n", info.name, tunables.*(info.member));
  return out;
}

trace::TraceSummary summary_of(const std::vector<trace::Event>& events,
                               const allocator::Policy& policy) {
  trace::TraceSummary out;
  out.format = out.recorded_as = trace::Format::e4t;
  out.generation = conformance::generation_of(policy);
  for (const trace::Event& event : events) static_cast<void>(out.add(event, nullptr));
  return out;
}

Status write_all_parts(capture::CaptureWriter& writer, const Scene& scene, const review::Side& side,
                       const Maker& maker, const std::vector<trace::Event>& events) {
  capture::StartFacts start;
  start.recorder = maker.program + ", made up by a hunt";
  start.kernel = conformance::release_of(*side.policy);
  start.machine = "model";
  start.device_name = "none";
  start.command = maker.command;
  start.clock = "count";
  start.events = "full";
  start.snapshot = "unmounted";
  E4R_TRY(const allocator::Tunables tunables, tunables_of(scene, side));
  start.possible_cpus = static_cast<std::uint32_t>(tunables.possible_cpus);
  E4R_CHECK(writer.start(start));
  E4R_CHECK(writer.text(names::kTunables, tunables_text(tunables)));
  E4R_TRY(const std::string path, scene.start->path());
  E4R_TRY(const auto image, capture::StartImage::read(path));
  E4R_CHECK(image.pack([&writer](std::string_view part) { return writer.image(part); }));
  E4R_CHECK(writer.events(events, conformance::generation_of(*side.policy)));
  E4R_CHECK(writer.end_events(summary_of(events, *side.policy)));
  capture::EndFacts end;
  end.reason = "the operations ended";
  end.events = events.size();
  end.quiet = true;
  return writer.finish(end);
}

}  // namespace

Result<std::uint64_t> write_case(const Scene& scene, const review::Side& side, const Maker& maker,
                                 const OutputName& output) {
  std::vector<trace::Event> events;
  E4R_TRY(const results::Outcome played, play(scene, side, &events));
  E4R_TRY(auto file, trace::OutputFile::create(output));
  E4R_TRY(const auto writer, capture::CaptureWriter::create(std::move(file)));
  E4R_CHECK(write_all_parts(*writer, scene, side, maker, events));
  return events.size();
}

}  // namespace e4r::hunt
