// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trace/dat/header.h"
#include "util/status.h"

namespace e4r::trace::dat {

// Reads consecutive numbers and strings in the file's byte order. A read past the end returns 0 or
// an empty string, and good() returns false from then on.
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

// A record in a ring buffer.
struct BufferRecord {
  std::uint64_t stamp = 0;  // on the buffer's clock
  std::span<const std::byte> data;
  // The number of events lost just before this record; 0 if unknown, nullopt if no events were
  // lost.
  std::optional<std::uint64_t> lost;
};

// Reads one CPU's records. A page begins with a time and the number of committed bytes. Records
// follow. Each begins with a word that holds its kind or length (5 bits) and the time since the
// previous record (27 bits). Sources: include/linux/ring_buffer.h of Linux 6.1 and
// events/header_event in tracefs.
class CpuRecords {
 public:
  // `file` must outlive the object; `part` must lie inside `file`.
  CpuRecords(std::string_view file, bool big_endian, const PageShape& shape, const Buffer& buffer,
             const CpuPart& part);

  // Returns the next record, valid until the next call, or nullopt at the end. An Error gives the
  // offset of the page or chunk, but not the file's name; the next call continues after the damage.
  [[nodiscard]] Result<std::optional<BufferRecord>> next();

  [[nodiscard]] std::uint32_t cpu() const { return cpu_; }
  // The number of unpacked bytes in memory.
  [[nodiscard]] std::size_t held() const { return chunk_.size(); }

 private:
  enum class Step : std::uint8_t { record, more, page_end };
  [[nodiscard]] Result<bool> next_page();
  [[nodiscard]] Result<bool> next_chunk();
  [[nodiscard]] Status start_page(std::string_view page);
  [[nodiscard]] Result<Step> step(BufferRecord& out);
  [[nodiscard]] Error damage_error(std::string_view what);
  [[nodiscard]] std::uint64_t number(std::string_view bytes, std::uint64_t at,
                                     std::size_t size) const;

  std::string_view file_;
  bool big_endian_;
  PageShape shape_;
  std::uint32_t cpu_;
  std::uint32_t page_size_;
  Packing packing_;
  std::uint64_t at_, end_;    // the unread part of the file
  std::uint32_t chunks_ = 0;  // remaining chunks, if packed
  bool counted_ = false;      // whether chunks_ has been read
  std::vector<char> chunk_;   // unpacked
  std::string_view pages_;    // the unread pages of the chunk, or of the file
  std::uint64_t place_ = 0;   // file offset of the page, or of its chunk
  std::string_view records_;  // the unread records of the page
  std::uint64_t stamp_ = 0;
  std::optional<std::uint64_t> lost_;
};

}  // namespace e4r::trace::dat
