// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/capture.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/describe/class.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>
#include <cerrno>
#include <fstream>

#include "capture/container.h"
#include "trace/bytes.h"
#include "util/fd.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::capture {

BOOST_DESCRIBE_STRUCT(StartFacts, (),
                      (recorder, time, kernel, kernel_version, machine, device, device_name,
                       mount_point, mount_options, command, clock, events, snapshot, possible_cpus,
                       rotational, mounted, settled, ordered, frozen_s))
BOOST_DESCRIBE_STRUCT(Losses, (), (cpu, events))
BOOST_DESCRIBE_STRUCT(EndFacts, (),
                      (time, reason, exit_status, elapsed_s, frozen_s, events, lost, quiet,
                       unordered, changes))

namespace {

namespace json = boost::json;

template <class Facts>
Result<Facts> parse(std::string_view text) {
  json::parse_options lenient;
  lenient.allow_invalid_utf8 = true;
  boost::system::error_code ec;
  const json::value given = json::parse(text, ec, {}, lenient);
  if (ec || !given.is_object()) return error("is not a JSON object");
  json::object known = json::value_from(Facts{}).as_object();
  for (auto& [name, value] : known)
    if (const json::value* member = given.get_object().if_contains(name)) value = *member;
  const auto facts = json::try_value_to<Facts>(json::value(known));
  if (facts.has_error()) return error("has a member of a wrong type");
  return *facts;
}

// Returns the facts as JSON in valid UTF-8. Names and commands may be arbitrary bytes.
template <class Facts>
std::string text_of(const Facts& facts) {
  return valid_utf8(json::serialize(json::value_from(facts))) + "\n";
}

}  // namespace

std::string to_json(const StartFacts& facts) {
  return text_of(facts);
}
std::string to_json(const EndFacts& facts) {
  return text_of(facts);
}

Result<StartFacts> parse_start_facts(std::string_view text) {
  return parse<StartFacts>(text);
}
Result<EndFacts> parse_end_facts(std::string_view text) {
  return parse<EndFacts>(text);
}

std::uint64_t all_lost(const std::vector<Losses>& lost) {
  std::uint64_t sum = 0;
  for (const Losses& cpu : lost) sum += cpu.events;
  return sum;
}

std::string each_option_once(std::string_view options) {
  std::vector<std::string_view> seen;
  std::string out;
  while (!options.empty()) {
    const auto comma = std::min(options.find(','), options.size());
    const std::string_view option = options.substr(0, comma);
    options.remove_prefix(std::min(comma + 1, options.size()));
    if (option.empty() || std::ranges::find(seen, option) != seen.end()) continue;
    seen.push_back(option);
    out.append(out.empty() ? "" : ",").append(option);
  }
  return out;
}

namespace {

constexpr std::size_t kMostTexts = 1000;
constexpr std::size_t kMostTextBytes = 256 << 20;  // total of all texts

// Delivers the bytes of all parts that hold events.
class EventBytes final : public trace::ByteSource {
 public:
  EventBytes(ContainerReader reader, std::string name, bool any_ratio)
      : reader_(std::move(reader)), name_(std::move(name)), limit_(any_ratio) {}
  Result<std::string_view> next() override {
    for (;;) {
      E4R_TRY(const Part part,
              reader_.next([](PartKind kind) { return kind == PartKind::events; }));
      if (part.kind == PartKind::end) return std::string_view();
      if (part.bytes.empty()) continue;
      E4R_CHECK(limit_.add(part.stored, part.bytes.size(), name_));
      return part.bytes;
    }
  }

 private:
  ContainerReader reader_;
  std::string name_;
  trace::UnpackLimit limit_;
};

// Whether the file can be opened again. A FIFO cannot, and opening one without a writer may block.
bool can_be_read_twice(const std::string& path) {
  struct stat st = {};
  return ::stat(path.c_str(), &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
}

Result<ContainerReader> open_reader(const std::string& path) {
  E4R_TRY(auto bytes, trace::open_bytes(path, {false, false}));
  return ContainerReader(std::move(bytes), path);
}

// Whether the recorder still has the file open (OutputFile::create_growing).
bool is_locked(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.is_open() && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

bool is_capture(const std::string& path) {
  if (!can_be_read_twice(path)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, kMagic.size()> head = {};
  file.read(head.data(), head.size());
  return file.gcount() == static_cast<std::streamsize>(head.size()) &&
         std::string_view(head.data(), head.size()) == kMagic;
}

Result<Capture> Capture::open(const std::string& path) {
  struct stat st = {};
  const bool there = ::stat(path.c_str(), &st) == 0;
  if (there && S_ISDIR(st.st_mode)) return error("{}: is a directory: give a capture (.e4c)", path);
  if (there && !can_be_read_twice(path))
    return error("{}: is not a regular file: a capture is read more than once", path);
  Capture out;
  out.path_ = path;
  E4R_CHECK(out.read());
  return out;
}

Status Capture::read() {
  E4R_TRY(ContainerReader reader, open_reader(path_));
  for (;;) {
    E4R_TRY(const Part part, reader.next([](PartKind kind) { return kind != PartKind::events; }));
    if (part.kind == PartKind::end) break;
    Status status;
    if (part.kind == PartKind::text) status = add_text(part.bytes);
    if (part.kind == PartKind::image) status = image_.add(part.bytes);
    if (!status.ok())
      return error("{}: at byte {}: {}", path_, part.offset, status.error().message);
  }
  cut_short_ = reader.cut_short();
  is_being_recorded_ = cut_short_ && is_locked(path_);
  const std::string* start = text(text_name::kStart);
  if (start == nullptr) return error("{}: is truncated before the description of its start", path_);
  auto facts = parse_start_facts(*start);
  if (!facts.ok()) return error("{}: {} {}", path_, text_name::kStart, facts.error().message);
  start_ = *std::move(facts);
  if (const std::string* end = text(text_name::kEnd)) {
    auto last = parse_end_facts(*end);
    if (!last.ok()) return error("{}: {} {}", path_, text_name::kEnd, last.error().message);
    end_ = *std::move(last);
    ended_ = true;
  }
  return {};
}

// Adds a part that consists of the length of a name in one byte, the name, and a piece of the text.
Status Capture::add_text(std::string_view part) {
  const std::size_t length = part.empty() ? 0 : static_cast<unsigned char>(part.front());
  if (length == 0 || part.size() <= length) return error("a text without a name");
  const std::string_view content = part.substr(1 + length);
  texts_[std::string(part.substr(1, length))] += content;
  text_bytes_ += content.size();
  if (texts_.size() > kMostTexts || text_bytes_ > kMostTextBytes)
    return error("more text than any recorder writes");
  return {};
}

const std::string* Capture::text(std::string_view name) const {
  const auto found = texts_.find(name);
  return found == texts_.end() ? nullptr : &found->second;
}

std::vector<std::string> Capture::notes() const {
  std::vector<std::string> out;
  if (is_being_recorded_)
    out.push_back(
        fmt::format("{}: is still being recorded: the part recorded so far is used", path_));
  else if (cut_short_)
    out.push_back(fmt::format(
        "{}: is truncated (its recorder was killed?): the recorded part is used", path_));
  if (const std::uint64_t lost = all_lost(end_.lost); lost > 0)
    out.push_back(fmt::format(
        "{}: {} events were lost while recording: results are not exact after the first of them",
        path_, format_count(lost)));
  for (const std::string& change : end_.changes)
    out.push_back(fmt::format("{}: while it was recorded, the file system {}", path_, change));
  return out;
}

Result<std::unique_ptr<trace::Trace>> Capture::open_trace(const trace::ReadOptions& options) const {
  E4R_TRY(ContainerReader reader, open_reader(path_));
  trace::ReadOptions chosen = options;
  chosen.lenient = options.lenient || cut_short_;
  return trace::open_trace_source(
      std::make_unique<EventBytes>(std::move(reader), path_, options.any_ratio), path_, chosen);
}

Result<trace::PackedTrace> Capture::load_trace(const trace::ReadOptions& options,
                                               trace::EventSink* sink) const {
  trace::ReadOptions chosen = options;
  chosen.late_generation = true;
  E4R_TRY(const auto trace, open_trace(chosen));
  return trace::pack(*trace, options, sink);
}

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
