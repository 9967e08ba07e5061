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

#include "trace/event.h"
#include "trace/tep/format.h"
#include "trace/tep/record.h"
#include "trace/text/body.h"
#include "trace/wanted.h"
#include "util/status.h"

struct tep_handle;
struct tep_record;

namespace e4r::trace {

// A record as the kernel has written it: its place and time are the recorder's to say.
struct RawRecord {
  int cpu = 0;
  std::uint64_t time_ns = 0;
  std::span<const std::byte> data;
};

// Turns the kernel's binary records into events: those that the text reader makes of what the
// kernel would have printed. Where a record has a field, and what flags and criteria are called, is
// taken from the formats (events/SYSTEM/NAME/format in tracefs; the header of a trace.dat); it is
// looked up once. One thread at a time.
class RecordDecoder {
 public:
  enum class Outcome : std::uint8_t { event, other, malformed };

  // Formats that are not there are no Error (see knows()); one of a needed event that lacks a field
  // that every kernel we know has, or whose criteria cannot be told, is. The records of an event
  // that is not needed are then malformed. `declared`: what the user says of the kernel, or
  // unknown.
  [[nodiscard]] static Result<RecordDecoder> create(std::span<const EventFormat> formats,
                                                    bool big_endian,
                                                    Generation declared = Generation::unknown,
                                                    KindSet needed = KindSet::all());
  // The same with the formats that `tep` holds now; it is not needed afterwards.
  [[nodiscard]] static Result<RecordDecoder> create(tep_handle& tep,
                                                    Generation declared = Generation::unknown);

  // Reads one record: all of `out` after `event`, nothing worth keeping after the others. `other`:
  // an event of no kind of ours, other_name() says which. `malformed`: shorter than its format
  // says, or with a value that its field cannot have; problem() says so.
  [[nodiscard]] Outcome decode(const RawRecord& record, Event& out);
  [[nodiscard]] Outcome decode(const tep_record& record, Event& out);

  // Of the last record: the name of another event ("" when the formats have none of that number),
  // and what is wrong with a malformed one and its kind, if that much could be told.
  [[nodiscard]] std::string_view other_name() const { return other_name_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::optional<EventKind> malformed_kind() const { return malformed_kind_; }

  // Whether the kernel has the event.
  [[nodiscard]] bool knows(EventKind kind) const;

  // As far as the searches read so far have shown it, which is what a trace's writer needs; just as
  // in text. report_bodies(context(), summary) tells a summary.
  [[nodiscard]] Generation generation() const { return context_.criterion.generation(); }
  [[nodiscard]] const BodyContext& context() const { return context_; }

 private:
  // How to read the records of one event.
  struct Layout {
    EventKind kind = EventKind::lost_events;  // of another event
    bool strangers = false;                   // the format has fields that we do not know
    std::size_t size = 0;                     // of the data that is looked at
    std::vector<RecordPlace> places;
    RecordNames names;
    std::string name;     // as "ext4_request_blocks"
    std::string problem;  // why no record can be read; empty: they can
  };

  RecordDecoder() = default;
  [[nodiscard]] Status add(const EventFormat& format, KindSet needed);
  [[nodiscard]] static Result<Layout> layout_of(const EventFormat& format, EventKind kind);
  [[nodiscard]] Outcome malformed(const Layout& layout, std::string_view what);

  std::vector<std::uint16_t> by_id_;  // index of layouts_ + 1; 0: no event has this number
  std::vector<Layout> layouts_;
  std::array<RecordPlace, 2> common_ = {};  // the event's number, the thread's
  std::array<bool, kEventKinds> known_ = {};
  bool swapped_ = false;
  BodyContext context_;
  std::string_view other_name_;
  std::string problem_;
  std::optional<EventKind> malformed_kind_;
};

}  // namespace e4r::trace
