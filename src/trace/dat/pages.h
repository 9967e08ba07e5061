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

// A record of a ring buffer.
struct BufferRecord {
  std::uint64_t stamp = 0;  // of the buffer's clock
  std::span<const std::byte> data;
  // Events that were lost right before it: how many, 0 for an unknown number; none: no loss.
  std::optional<std::uint64_t> lost;
};

// What one CPU has recorded, record by record. A page begins with a time and the number of bytes
// committed; records follow, each with a word that holds its kind or length (5 bits) and the time
// since the record before (27 bits), as include/linux/ring_buffer.h of Linux 6.1 describes them
// and events/header_event of tracefs lists them.
class CpuRecords {
 public:
  // `file` must outlive this; `part` must lie inside it.
  CpuRecords(std::string_view file, bool big_endian, const PageShape& shape, const Buffer& buffer,
             const CpuPart& part);

  // The next record, valid until the next call; nothing at the end. An Error says where in the file
  // (the page that holds it, or the chunk) and not which file; the next call goes on behind that.
  [[nodiscard]] Result<std::optional<BufferRecord>> next();

  [[nodiscard]] std::uint32_t cpu() const { return cpu_; }
  // Bytes that are held unpacked.
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
  std::uint64_t at_, end_;    // of the file, what is not read yet
  std::uint32_t chunks_ = 0;  // left, when packed
  bool counted_ = false;      // chunks_ was read
  std::vector<char> chunk_;   // unpacked
  std::string_view pages_;    // what of the chunk, or of the file, is not read yet
  std::uint64_t place_ = 0;   // of the page, or of its chunk, in the file
  std::string_view records_;  // of the page, what is not read yet
  std::uint64_t stamp_ = 0;
  std::optional<std::uint64_t> lost_;
};

}  // namespace e4r::trace::dat
