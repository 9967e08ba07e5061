// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct tep_event;

namespace e4r::trace {

// What the kernel says of an event in events/SYSTEM/NAME/format of tracefs, as far as decoding its
// records needs it. Offsets and sizes are as they stand there: check them.
struct EventFormat {
  struct Field {
    std::string name;
    std::int64_t offset = 0, size = 0;  // bytes
    friend bool operator==(const Field&, const Field&) = default;
  };
  // A value and its name in __print_flags or __print_symbolic. No value: an enumerator.
  struct Name {
    std::string name;
    std::optional<std::uint64_t> value;
    friend bool operator==(const Name&, const Name&) = default;
  };

  std::string system, name;
  std::int64_t id = -1;
  std::vector<Field> common, fields;  // those of all events, and its own
  std::vector<Name> flags, symbols;   // of the first such list; empty: it prints none
  bool print_known = true;            // the two above can be relied on
  friend bool operator==(const EventFormat&, const EventFormat&) = default;
};

// Reads the text. Nothing when it has no name, number or field. Any text will do: nothing of it is
// believed but what is found where it belongs.
[[nodiscard]] std::optional<EventFormat> parse_event_format(std::string_view text,
                                                            std::string_view system);

// The fields in a text like that of header_page or of an event's format.
[[nodiscard]] std::vector<EventFormat::Field> parse_format_fields(std::string_view text);

// The same from what libtraceevent has read.
[[nodiscard]] EventFormat event_format(const tep_event& event);

}  // namespace e4r::trace
