// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/tep/decoder.h"
#include "util/status.h"

namespace e4r::trace::dat {

// The compression of a recording's parts.
enum class Packing : std::uint8_t { none, zlib, zstd };

// Parses the name of a compression; an unknown name is an Error.
[[nodiscard]] Result<Packing> parse_packing(std::string_view name);

// Unpacks `packed` into `out`. Returns false unless the result has exactly `size` bytes.
[[nodiscard]] bool unpack(Packing packing, std::string_view packed, std::size_t size,
                          std::vector<char>& out);

// The first bytes of every trace-cmd file.
inline constexpr std::string_view kMagic{"\x17\x08\x44tracing", 10};

// The layout of a page in the kernel's ring buffer (events/header_page in tracefs).
struct PageShape {
  std::uint32_t time = 0;  // offset of the time, which has eight bytes
  std::uint32_t commit = 8, commit_size = 8;
  std::uint32_t data = 16;
};

// One CPU's data in one buffer: whole pages, packed or not.
struct CpuPart {
  std::uint32_t cpu = 0;
  std::uint64_t offset = 0, size = 0;  // bytes of the file
};

// A ring buffer: either the top buffer, whose name is empty, or an instance.
struct Buffer {
  std::string name;
  std::string clock;  // such as "mono"; empty: unknown
  std::uint32_t page_size = 0;
  Packing packing = Packing::none;
  std::vector<CpuPart> cpus;
};

// Converts time stamps to nanoseconds. Scales time stamps of the x86-tsc clock and adds the offset
// of `trace-cmd record --date` or --ts-offset.
struct TimeRule {
  std::uint32_t multiplier = 0, shift = 0;  // 0: stamps are nanoseconds
  std::uint64_t start = 0;
  std::int64_t offset = 0;
  [[nodiscard]] std::uint64_t apply(std::uint64_t stamp) const;
};

// The head of a trace.dat file of version 6 or 7: its contents and their locations. Sources:
// trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5) of trace-cmd 3.1.6. Details that these pages omit
// (the options of version 6, the units of DATE) come from files written by that version.
struct DatHeader {
  unsigned version = 0;
  bool big_endian = false;
  PageShape page;
  std::vector<EventFormat> formats;
  std::vector<Buffer> buffers;
  std::string release;  // the kernel's release, such as "6.1.0-18-amd64"; empty: unknown
  TimeRule time;
  std::uint64_t overwritten = 0;  // events that the buffer had no room for, as the kernel counts
};

// Reads the head of a file in memory. Every CPU's part lies inside the file, and no two parts
// overlap. If `lenient`, parts that reach past the end are shortened, with a line for each in
// `warnings`. An Error does not name the file.
[[nodiscard]] Result<DatHeader> read_dat_header(std::string_view file, bool lenient,
                                                std::vector<std::string>& warnings);

}  // namespace e4r::trace::dat
