// SPDX-License-Identifier: GPL-2.0-or-later
// Reads a capture with arbitrary parts, opens its start image, and follows its trace from a warm
// start. Nothing may crash, and every invariant of the state must hold. The input is a list of
// parts. A part consists of a kind, a length of two bytes, and that many bytes. The harness adds
// the frames with their checksums.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "capture/capture.h"
#include "capture/container.h"
#include "capture/support.h"
#include "image/image.h"
#include "replay/engine.h"
#include "replay/intake.h"
#include "replay/load.h"
#include "replay/session.h"
#include "replay/warm_start.h"
#include "stats/mb_files.h"
#include "trace/packed.h"

namespace {

using namespace e4r;

std::string container(std::string_view parts) {
  std::string out;
  auto writer = capture::ContainerWriter::create(std::make_unique<test::MemoryFile>(out));
  constexpr capture::PartKind kKinds[] = {capture::PartKind::text, capture::PartKind::image,
                                          capture::PartKind::events};
  while (parts.size() >= 3) {
    const auto kind = kKinds[static_cast<unsigned char>(parts[0]) % 3];
    const std::size_t length =
        static_cast<unsigned char>(parts[1]) | static_cast<unsigned char>(parts[2]) << 8;
    parts.remove_prefix(3);
    (void)writer->add(kind, parts.substr(0, length));
    parts.remove_prefix(std::min(length, parts.size()));
  }
  (void)writer->finish();
  return out;
}

std::vector<state::MbGroup> shown_in(const capture::Capture& capture) {
  const std::string* text = capture.text(capture::text_name::kStartGroups);
  auto groups = stats::parse_mb_groups(text == nullptr ? std::string_view() : *text);
  return groups.ok() ? *std::move(groups) : std::vector<state::MbGroup>();
}

void follow(const capture::Capture& capture, const trace::PackedTrace& trace) {
  constexpr std::uint32_t kMostGroups = 4096;
  auto image = image::Image::open(capture.image().path());
  if (!image.ok() || image->superblock().groups > kMostGroups) return;
  const state::Source source = replay::source_from(*image);
  if (!replay::check_fit(source.geometry, *trace.cursor()).ok()) return;
  replay::SessionOptions options;
  auto warm = replay::deduce_warm_start(source, *trace.cursor(), shown_in(capture),
                                        allocator::Tunables().mb_stream_req);
  if (!warm.ok()) return;
  options.warm = std::make_shared<replay::WarmStart>(*std::move(warm));
  replay::Session session(source, trace, options);
  replay::Setup setup = {nullptr, allocator::defaults_for(source.geometry)};
  setup.check_every = replay::Setup::kOften;
  const auto run = session.follow_recorded(setup);
  if (run.ok()) return;
  std::fprintf(stderr, "fuzz_capture: %s\n", run.error().message.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = container({reinterpret_cast<const char*>(data), size});
  const int fd = ::memfd_create("capture", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) < 0) std::abort();
  const auto capture = capture::Capture::open(fmt::format("/proc/self/fd/{}", fd));
  if (capture.ok()) {
    (void)capture->notes();
    trace::ReadOptions lenient;
    lenient.lenient = true;
    const auto trace = capture->load_trace(lenient);
    if (trace.ok() && !capture->image().empty()) follow(*capture, *trace);
  }
  ::close(fd);
  return 0;
}
