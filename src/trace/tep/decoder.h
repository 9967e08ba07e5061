// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/decoder.h"
#include "trace/event.h"
#include "trace/tep/record.h"
#include "trace/text/body.h"
#include "util/status.h"

struct tep_event;

namespace e4r::trace {

// The part of events/SYSTEM/NAME/format in tracefs that decoding needs. Offsets and sizes have not
// been checked.
struct EventFormat {
  struct Field {
    std::string name;
    std::int64_t offset = 0, size = 0;  // bytes
    friend bool operator==(const Field&, const Field&) = default;
  };
  // A value and its name in __print_flags or __print_symbolic. The value is missing if the format
  // has an enumerator's name instead.
  struct Name {
    std::string name;
    std::optional<std::uint64_t> value;
    friend bool operator==(const Name&, const Name&) = default;
  };

  std::string system, name;
  std::int64_t id = -1;
  std::vector<Field> common, fields;  // the fields of all events, and the fields of this event
  std::vector<Name> flags, symbols;   // from the first list of that type; empty without a list
  bool print_known = true;            // whether `flags` and `symbols` are reliable
  friend bool operator==(const EventFormat&, const EventFormat&) = default;
};

// Parses a format text. Returns nullopt if it has no name, number or field. Accepts any text and
// ignores parts that it does not understand.
[[nodiscard]] std::optional<EventFormat> parse_event_format(std::string_view text,
                                                            std::string_view system);

// Parses the fields of a text such as header_page or an event's format.
[[nodiscard]] std::vector<EventFormat::Field> parse_format_fields(std::string_view text);

// Converts an event that libtraceevent has parsed.
[[nodiscard]] EventFormat event_format(const tep_event& event);

}  // namespace e4r::trace

struct tep_handle;
struct tep_record;

namespace e4r::trace {

// A record in the kernel's binary form. The recorder supplies its CPU and time.
struct RawRecord {
  int cpu = 0;
  std::uint64_t time_ns = 0;
  std::span<const std::byte> data;
};

// Decodes the kernel's binary records into the same events that the text reader makes from the
// kernel's output. Field offsets and the names of flags and criteria come from the formats
// (events/SYSTEM/NAME/format in tracefs; the header of a trace.dat) and are looked up once. Not
// thread-safe.
class RecordDecoder {
 public:
  enum class Outcome : std::uint8_t { event, other, malformed };

  // Makes a decoder from the formats of a kernel. A missing format is not an Error (see knows()).
  // The format of a needed event is an Error if it lacks a field that every known kernel has, or if
  // its criteria cannot be determined. If such an event is not needed, its records count as
  // malformed. `declared` is the kernel according to the user, or unknown.
  [[nodiscard]] static Result<RecordDecoder> create(std::span<const EventFormat> formats,
                                                    bool big_endian,
                                                    Generation declared = Generation::unknown,
                                                    KindSet needed = KindSet::all());
  // Does the same with the formats that `tep` currently has. `tep` is not needed afterwards.
  [[nodiscard]] static Result<RecordDecoder> create(tep_handle& tep,
                                                    Generation declared = Generation::unknown);

  // Decodes one record. If it returns `event`, all of `out` is set; otherwise the contents of `out`
  // are meaningless. `other` means an event of an unknown kind, whose name other_name() returns.
  // `malformed` means that the record is shorter than its format requires, or that a value is out
  // of its field's range; problem() explains.
  [[nodiscard]] Outcome decode(const RawRecord& record, Event& out);
  [[nodiscard]] Outcome decode(const tep_record& record, Event& out);

  // Facts about the last record: the name of an event of an unknown kind ("" if the formats do not
  // have its number); the problem of a malformed record, and its kind if known.
  [[nodiscard]] std::string_view other_name() const { return other_name_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::optional<EventKind> malformed_kind() const { return malformed_kind_; }

  // Whether there is a format for the event.
  [[nodiscard]] bool knows(EventKind kind) const;

  // The generation that the searches so far have shown, as in the text reader. A trace writer needs
  // it. report_bodies(context(), summary) copies it to a summary.
  [[nodiscard]] Generation generation() const { return context_.criterion.generation(); }
  [[nodiscard]] const BodyContext& context() const { return context_; }

 private:
  // How to read the records of one event.
  struct Layout {
    EventKind kind = EventKind::lost_events;  // lost_events: an event of another kind
    bool of_ldiskfs = false;                  // an event of Lustre's copy of ext4
    bool strangers = false;                   // the format has fields that are unknown here
    std::size_t size = 0;                     // bytes of the data that decoding reads
    std::vector<RecordPlace> places;
    RecordNames names;
    std::string name;     // such as "ext4_request_blocks"
    std::string problem;  // why records of this event cannot be read; empty if they can
  };

  RecordDecoder() = default;
  [[nodiscard]] Status add(const EventFormat& format, KindSet needed);
  [[nodiscard]] static Result<Layout> layout_of(const EventFormat& format, EventKind kind);
  [[nodiscard]] Outcome report_malformed(const Layout& layout, std::string_view what);

  std::vector<std::uint16_t> by_id_;  // index in layouts_ + 1; 0: no event has this number
  std::vector<Layout> layouts_;
  std::array<RecordPlace, 2> common_ = {};  // the event's number, and the thread's
  std::array<bool, kEventKinds> known_ = {};
  bool swapped_ = false;
  BodyContext context_;
  std::string_view other_name_;
  std::string problem_;
  std::optional<EventKind> malformed_kind_;
};

}  // namespace e4r::trace
