// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/writer.h"

#include <algorithm>

#include "util/units.h"

namespace e4r::capture {
namespace {

constexpr std::size_t kEventBytes = 256 * kKiB;  // event bytes per part

}  // namespace

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(const OutputName& name) {
  E4R_TRY(auto file, trace::OutputFile::create_growing(name));
  return create(std::move(file));
}

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(
    std::unique_ptr<trace::OutputFile> file, std::uint16_t version) {
  E4R_TRY(ContainerWriter container, ContainerWriter::create(std::move(file), version));
  return std::unique_ptr<CaptureWriter>(new CaptureWriter(std::move(container)));
}

Status CaptureWriter::start(const StartFacts& facts) {
  return text(text_name::kStart, to_json(facts));
}

Status CaptureWriter::text(std::string_view name, std::string_view text) {
  const std::size_t most = kMaxPartBytes - 1 - name.size();
  do {
    std::string part(1, static_cast<char>(name.size()));
    part += name;
    part += text.substr(0, most);
    text.remove_prefix(std::min(most, text.size()));
    E4R_CHECK(container_.add(PartKind::text, part));
  } while (!text.empty());
  return {};
}

Status CaptureWriter::image(std::string_view part) {
  return container_.add(PartKind::image, part);
}

Status CaptureWriter::events(std::span<const trace::Event> events, trace::Generation generation) {
  if (!began_) e4t_.begin();
  began_ = true;
  e4t_.add(events, generation);
  return hand_over(kEventBytes);
}

Status CaptureWriter::flush() {
  if (began_) e4t_.flush();
  return hand_over(0);
}

Status CaptureWriter::end_events(const trace::TraceSummary& summary) {
  if (!began_) e4t_.begin();
  e4t_.finish(summary);
  return hand_over(0);
}

// Writes the buffer if it has more than `beyond` bytes.
Status CaptureWriter::hand_over(std::size_t beyond) {
  if (buffer_.size() <= beyond) return {};
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, kMaxPartBytes);
    E4R_CHECK(container_.add(PartKind::events, part));
    rest.remove_prefix(part.size());
  }
  buffer_.clear();
  return {};
}

Status CaptureWriter::finish(const EndFacts& facts) {
  E4R_CHECK(text(text_name::kEnd, to_json(facts)));
  return container_.finish();
}

}  // namespace e4r::capture
