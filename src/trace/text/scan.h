// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace e4r::trace {

// A position in a line. The byte at `end` is readable and not a digit (LineReader ensures it), so
// runs of digits need no bound check. Functions return whether they matched. After false, `p` lies
// anywhere between its old place and the mismatch.
struct Scan {
  const char* p;
  const char* end;

  explicit Scan(std::string_view line) : p(line.data()), end(line.data() + line.size()) {}

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end - p); }
  [[nodiscard]] bool at_end() const { return p >= end; }
  [[nodiscard]] std::string_view rest() const { return {p, left()}; }
  [[nodiscard]] static bool digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

  // Always inlined: the texts are constants, so the comparison needs no call.
  [[gnu::always_inline]] bool literal(std::string_view text) {
    if (left() < text.size() || std::memcmp(p, text.data(), text.size()) != 0) return false;
    p += text.size();
    return true;
  }
  bool ch(char c) {
    if (at_end() || *p != c) return false;
    ++p;
    return true;
  }
  void spaces() {
    while (p < end && *p == ' ') ++p;
  }
  // Returns the characters up to the next space or the end.
  std::string_view word() {
    const char* start = p;
    while (p < end && *p != ' ') ++p;
    return {start, static_cast<std::size_t>(p - start)};
  }

  // Reads a decimal number that fits T.
  template <class T>
  bool number(T& value) {
    if constexpr (std::numeric_limits<T>::is_signed) {
      const bool negative = ch('-');
      std::uint64_t magnitude = 0;
      const auto limit = static_cast<std::uint64_t>(std::numeric_limits<T>::max()) + negative;
      if (!digits(magnitude) || magnitude > limit) return false;
      value = static_cast<T>(negative ? 0 - magnitude : magnitude);
      return true;
    } else {
      std::uint64_t wide = 0;
      if (!digits(wide) || wide > std::numeric_limits<T>::max()) return false;
      value = static_cast<T>(wide);
      return true;
    }
  }

  // Reads an octal number, with or without leading zeros.
  bool octal(std::uint16_t& value) {
    if (at_end() || !digit(*p)) return false;
    std::uint32_t sum = 0;
    for (; p < end && digit(*p); ++p) {
      if (*p > '7' || sum > 0xffff >> 3) return false;
      sum = sum << 3 | static_cast<std::uint32_t>(*p - '0');
    }
    value = static_cast<std::uint16_t>(sum);
    return true;
  }

 private:
  bool digits(std::uint64_t& value) {
    const char* start = p;
    std::uint64_t sum = 0;
    for (unsigned d; (d = static_cast<unsigned char>(*p - '0')) <= 9; ++p) sum = sum * 10 + d;
    value = sum;
    const auto count = p - start;
    return count > 0 && (count < 20 || twenty_digits_fit(start, p));
  }
  // Numbers of twenty digits may exceed 2^64 - 1.
  static bool twenty_digits_fit(const char* start, const char* stop) {
    while (start < stop && *start == '0') ++start;
    const std::string_view text(start, static_cast<std::size_t>(stop - start));
    return text.size() < 20 || (text.size() == 20 && text <= "18446744073709551615");
  }
};

}  // namespace e4r::trace
