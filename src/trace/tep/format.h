// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct tep_event;

namespace e4r::trace {

// The part of events/SYSTEM/NAME/format in tracefs that decoding needs. Offsets and sizes are
// unchecked.
struct EventFormat {
  struct Field {
    std::string name;
    std::int64_t offset = 0, size = 0;  // bytes
    friend bool operator==(const Field&, const Field&) = default;
  };
  // A value and its name in __print_flags or __print_symbolic. No value: the kernel printed an
  // enumerator's name.
  struct Name {
    std::string name;
    std::optional<std::uint64_t> value;
    friend bool operator==(const Name&, const Name&) = default;
  };

  std::string system, name;
  std::int64_t id = -1;
  std::vector<Field> common, fields;  // the fields of all events, and those of this event
  std::vector<Name> flags, symbols;   // from the first such list; empty: there is none
  bool print_known = true;            // flags and symbols are reliable
  friend bool operator==(const EventFormat&, const EventFormat&) = default;
};

// Parses a format text. Returns nothing if it has no name, number or field. Accepts any text: takes
// only what stands in its proper place.
[[nodiscard]] std::optional<EventFormat> parse_event_format(std::string_view text,
                                                            std::string_view system);

// Parses the fields of a text such as header_page or an event's format.
[[nodiscard]] std::vector<EventFormat::Field> parse_format_fields(std::string_view text);

// Converts an event that libtraceevent has parsed.
[[nodiscard]] EventFormat event_format(const tep_event& event);

}  // namespace e4r::trace
