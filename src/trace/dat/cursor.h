// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace e4r::trace::dat {

// Reads consecutive numbers and strings in the file's byte order. A read past the end returns 0 or
// an empty string, and good() is false from then on.
class Cursor {
 public:
  Cursor(std::string_view bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::size_t offset() const { return at_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

  void seek(std::uint64_t offset) {
    if (offset > bytes_.size()) return fail();
    at_ = static_cast<std::size_t>(offset);
  }
  std::string_view take(std::uint64_t size) {
    if (!good_ || size > left()) {
      fail();
      return {};
    }
    const std::string_view out = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += out.size();
    return out;
  }
  // Reads a string and its terminating zero byte.
  std::string_view string() {
    const std::size_t end = good_ ? bytes_.find('\0', at_) : std::string_view::npos;
    if (end == std::string_view::npos) {
      fail();
      return {};
    }
    const std::string_view out = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
  std::uint64_t number(std::size_t size) {
    const std::string_view raw = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const auto byte = static_cast<unsigned char>(raw[big_endian_ ? i : raw.size() - 1 - i]);
      value = value << 8 | byte;
    }
    return value;
  }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }

 private:
  void fail() {
    good_ = false;
    at_ = bytes_.size();
  }

  std::string_view bytes_;
  bool big_endian_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace e4r::trace::dat
