// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trace/dat/recording.h"
#include "util/status.h"

namespace e4r::trace::dat {

// A record in a ring buffer.
struct BufferRecord {
  std::uint64_t stamp = 0;  // by the buffer's clock
  std::span<const std::byte> data;
  // Events lost just before this record: their number, or 0 if it is unknown. No value: no loss.
  std::optional<std::uint64_t> lost;
};

// Reads one CPU's records. A page begins with a time and the number of committed bytes. Records
// follow, each with a word that holds its kind or length (5 bits) and the time since the previous
// record (27 bits). Sources: include/linux/ring_buffer.h of Linux 6.1 and events/header_event in
// tracefs.
class CpuRecords {
 public:
  // `file` must outlive this; `part` must lie inside it.
  CpuRecords(std::string_view file, bool big_endian, const PageShape& shape, const Buffer& buffer,
             const CpuPart& part);

  // Returns the next record, valid until the next call; nothing at the end. An Error gives the
  // offset of the page or chunk, but not the file's name; the next call continues after the damage.
  [[nodiscard]] Result<std::optional<BufferRecord>> next();

  [[nodiscard]] std::uint32_t cpu() const { return cpu_; }
  // Bytes held in unpacked form.
  [[nodiscard]] std::size_t held() const { return chunk_.size(); }

 private:
  enum class Step : std::uint8_t { record, more, page_end };
  [[nodiscard]] Result<bool> next_page();
  [[nodiscard]] Result<bool> next_chunk();
  [[nodiscard]] Status start_page(std::string_view page);
  [[nodiscard]] Result<Step> step(BufferRecord& out);
  [[nodiscard]] Error damaged(std::string_view what);
  [[nodiscard]] std::uint64_t number(std::string_view bytes, std::uint64_t at,
                                     std::size_t size) const;

  std::string_view file_;
  bool big_endian_;
  PageShape shape_;
  std::uint32_t cpu_;
  std::uint32_t page_size_;
  Packing packing_;
  std::uint64_t at_, end_;    // the unread part of the file
  std::uint32_t chunks_ = 0;  // chunks left, when packed
  bool counted_ = false;      // chunks_ has been read
  std::vector<char> chunk_;   // unpacked
  std::string_view pages_;    // the unread pages of the chunk, or of the file
  std::uint64_t place_ = 0;   // offset of the page, or of its chunk, in the file
  std::string_view records_;  // the unread records of the page
  std::uint64_t stamp_ = 0;
  std::optional<std::uint64_t> lost_;
};

}  // namespace e4r::trace::dat
