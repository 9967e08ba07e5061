// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trace/bytes.h"

namespace e4r::trace {

// Cuts a ByteSource into lines. Copies only the lines that span two chunks.
class LineReader {
 public:
  // Longer lines are cut into pieces of this many bytes. Lines of real traces are far shorter.
  static constexpr std::size_t kMaxLine = 1 << 20;

  explicit LineReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // Moves to the next line; returns false at the end. line() is then that line without its newline
  // and carriage return, valid until the next call. The byte after it is readable and not a digit.
  [[nodiscard]] Result<bool> next() {
    const std::string_view window = rest_.substr(0, kMaxLine);
    const char* newline =
        window.empty() ? nullptr
                       : static_cast<const char*>(std::memchr(window.data(), '\n', window.size()));
    if (newline == nullptr) return next_across_chunks();
    take(std::string_view(rest_.data(), static_cast<std::size_t>(newline - rest_.data())));
    rest_.remove_prefix(line_bytes_ + 1);
    return true;
  }

  [[nodiscard]] std::string_view line() const { return line_; }
  // The number of the current line, from 1.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // False if the input ended within line().
  [[nodiscard]] bool terminated() const { return terminated_; }
  [[nodiscard]] const ByteSource& source() const { return *source_; }

 private:
  void take(std::string_view line) {
    line_bytes_ = line.size();
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    line_ = line;
    ++number_;
  }
  Result<bool> next_across_chunks();

  std::unique_ptr<ByteSource> source_;
  std::string_view rest_;  // the unread part of the current chunk
  std::string_view line_;
  std::string carry_;  // a line that spans two chunks
  std::size_t line_bytes_ = 0;
  std::uint64_t number_ = 0;
  bool terminated_ = true;
};

// A position in a line. The byte at `end` is readable and not a digit (LineReader ensures it), so
// runs of digits need no bound check. Functions return whether they matched. After a mismatch, `p`
// is anywhere between its old position and the mismatch.
struct LineCursor {
  const char* p;
  const char* end;

  explicit LineCursor(std::string_view line) : p(line.data()), end(line.data() + line.size()) {}

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end - p); }
  [[nodiscard]] bool at_end() const { return p >= end; }
  [[nodiscard]] std::string_view rest() const { return {p, left()}; }
  [[nodiscard]] static bool digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

  // Always inlined: the strings are constants, so the comparison needs no call.
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
  // Whether a number of twenty digits fits in 64 bits. Such a number may exceed 2^64 - 1.
  static bool twenty_digits_fit(const char* start, const char* stop) {
    while (start < stop && *start == '0') ++start;
    const std::string_view text(start, static_cast<std::size_t>(stop - start));
    return text.size() < 20 || (text.size() == 20 && text <= "18446744073709551615");
  }
};

// The part of a line before an event's body.
struct Prefix {
  std::uint32_t pid = 0;
  std::uint16_t cpu = 0;
  std::uint64_t time_ns = 0;
  std::string_view system;  // "ext4"; only perf prints it
  std::string_view name;    // "ext4_free_blocks"
  bool has_cpu = true;      // perf script can omit it
  bool has_body = true;     // false for a function tracer's line
};

// Both functions read a whole prefix and leave the scan at the body. They return false if the line
// has no prefix. Task names may contain spaces, dashes, brackets and colons. Each tool ends them at
// a fixed column. If that column does not match, they try every position after which the rest
// matches exactly.

// "task-pid  (tgid) [cpu] flags time: name: " of ftrace, with or without tgid and flags. Also reads
// the latency format ("task-pid cpuflags time us: name: ") and trace-cmd report, which pads the
// name.
[[nodiscard]] bool read_ftrace_prefix(LineCursor& scan, Prefix& prefix);

// "task pid/tid [cpu] time: system:name: " of perf script. pid or tid, and the cpu, may be missing.
[[nodiscard]] bool read_perf_prefix(LineCursor& scan, Prefix& prefix);

// A line that reports lost events: "CPU:1 [LOST 12 EVENTS]" (ftrace), "CPU:1 [12 EVENTS DROPPED]"
// (trace-cmd), "LOST 12 events!" (perf). "PERF_RECORD_LOST lost 12" of perf script has an event's
// prefix, so read_perf_prefix reads it.
struct LostMarker {
  std::uint16_t cpu = 0;
  std::uint64_t count = 0;  // 0: unknown
};
[[nodiscard]] std::optional<LostMarker> read_lost_marker(std::string_view line);

}  // namespace e4r::trace
