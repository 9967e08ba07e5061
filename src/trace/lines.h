// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "trace/bytes.h"

namespace e4r::trace {

// Cuts a ByteSource into lines. Copies only the lines that span two chunks.
class LineReader {
 public:
  // Longer lines are cut into pieces of this many bytes. No line of a real trace comes near it.
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
  // 1 for the first line.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // False when the input ended within line().
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

}  // namespace e4r::trace
