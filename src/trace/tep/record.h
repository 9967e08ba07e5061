// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"
#include "trace/text/names.h"

namespace e4r::trace {

struct BodyContext;

// A number in a kernel's record, identified by its name in the event's format.
struct RecordField {
  std::string_view name;
  bool required;
};

// The place of a number in a record. The size is 1, 2, 4 or 8 bytes; 0: this kernel's records lack
// it.
struct RecordPlace {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

// The kernel's names for the values of an event's flags and criterion. Empty if no translation is
// needed because the flags equal ours bit by bit or the numbers have no names.
struct RecordNames {
  struct Flag {
    std::uint64_t mask;
    std::uint32_t bits;  // our value; 0: the name is not in our table
  };
  std::vector<Flag> flags;
  std::vector<std::string> symbols;  // by number
};

// The numbers of a record. skip() moves on to the next field, so index 0 is always the current
// field's first number. Every place must lie inside the data.
class Record {
 public:
  Record(const void* data, const RecordPlace* places, bool swapped, const RecordNames& names)
      : data_(static_cast<const unsigned char*>(data)),
        places_(places),
        swapped_(swapped),
        names_(&names) {}

  [[nodiscard]] bool has(std::size_t index) const { return places_[index].size != 0; }
  void skip(std::size_t count) { places_ += count; }

  // Returns false if the value does not fit T. A signed T is sign-extended from the record's width.
  template <class T>
  [[nodiscard]] bool number(std::size_t index, T& value) const {
    const std::uint64_t raw = load(places_[index]);
    if constexpr (std::numeric_limits<T>::is_signed) {
      const unsigned shift = 64 - 8 * places_[index].size;
      const auto wide = static_cast<std::int64_t>(raw << shift) >> shift;
      value = static_cast<T>(wide);
      return value == wide;
    } else {
      value = static_cast<T>(raw);
      return value == raw;
    }
  }

  // Reads flags and translates them to our values. Counts and drops names that are not in our
  // table, as the text reader does.
  [[nodiscard]] bool flags(std::size_t index, std::uint32_t& value, std::uint64_t& unknown) const {
    std::uint64_t raw = load(places_[index]);
    std::uint32_t bits = 0;
    for (const RecordNames::Flag& f : names_->flags) {
      if ((raw & f.mask) != f.mask) continue;
      raw &= ~f.mask;
      bits |= f.bits;
      unknown += f.bits == 0;
    }
    value = bits | static_cast<std::uint32_t>(raw);
    return raw >> 32 == 0;
  }

  [[nodiscard]] bool has_symbols() const { return !names_->symbols.empty(); }
  [[nodiscard]] std::string_view symbol(std::uint64_t number) const {
    return number < names_->symbols.size() ? names_->symbols[number] : std::string_view();
  }

 private:
  template <class T>
  [[nodiscard]] static std::uint64_t bytes(const unsigned char* at, bool swapped) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    if constexpr (sizeof(T) == 2) return swapped ? __builtin_bswap16(value) : value;
    if constexpr (sizeof(T) == 4) return swapped ? __builtin_bswap32(value) : value;
    if constexpr (sizeof(T) == 8) return swapped ? __builtin_bswap64(value) : value;
    return value;
  }
  [[nodiscard]] std::uint64_t load(RecordPlace place) const {
    const unsigned char* at = data_ + place.offset;
    switch (place.size) {
      case 1:
        return *at;
      case 2:
        return bytes<std::uint16_t>(at, swapped_);
      case 4:
        return bytes<std::uint32_t>(at, swapped_);
      default:
        return bytes<std::uint64_t>(at, swapped_);
    }
  }

  const unsigned char* data_;
  const RecordPlace* places_;
  bool swapped_;
  const RecordNames* names_;
};

// The description of a kind's records: their numbers, the names of their flags (empty: no flags),
// and the conversion to an event. take() needs a place for each of fields(). It returns false for a
// value that the text format could not have shown.
struct RecordBody {
  std::vector<RecordField> (*fields)();
  std::span<const FlagName> (*flag_names)();
  bool (*take)(Record record, Event& event, BodyContext& context);
};

}  // namespace e4r::trace
