// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/dat/unpack.h"
#include "trace/tep/format.h"
#include "util/status.h"

namespace e4r::trace::dat {

// The first bytes of every file of trace-cmd.
inline constexpr std::string_view kMagic{"\x17\x08\x44tracing", 10};

// Where a page of the kernel's ring buffer has its parts (events/header_page of tracefs).
struct PageShape {
  std::uint32_t time = 0;  // eight bytes
  std::uint32_t commit = 8, commit_size = 8;
  std::uint32_t data = 16;
};

// What one CPU has recorded into one buffer: whole pages, packed or not.
struct CpuPart {
  std::uint32_t cpu = 0;
  std::uint64_t offset = 0, size = 0;  // bytes of the file
};

// A ring buffer: the top one, whose name is empty, or an instance.
struct Buffer {
  std::string name;
  std::string clock;  // as "mono"; empty: not said
  std::uint32_t page_size = 0;
  Packing packing = Packing::none;
  std::vector<CpuPart> cpus;
};

// How time stamps become nanoseconds: those of the clock x86-tsc, and the offset of `trace-cmd
// record --date` or --ts-offset.
struct TimeRule {
  std::uint32_t multiplier = 0, shift = 0;  // 0: they are nanoseconds
  std::uint64_t start = 0;
  std::int64_t offset = 0;
  [[nodiscard]] std::uint64_t apply(std::uint64_t stamp) const;
};

// The head of a trace.dat of version 6 or 7: what there is, and where. Sources: trace-cmd.dat.v6(5)
// and trace-cmd.dat.v7(5) of trace-cmd 3.1.6; what they do not say (the options of version 6, the
// units of DATE) is from files that it has written.
struct Recording {
  unsigned version = 0;
  bool big_endian = false;
  PageShape page;
  std::vector<EventFormat> formats;
  std::vector<Buffer> buffers;
  std::string release;  // of the kernel, as "6.1.0-18-amd64"; empty: not said
  TimeRule time;
  std::uint64_t overwritten = 0;  // events that the buffers had no room for, by the kernel's count
};

// Reads the head of a file in memory. The parts of the CPUs lie inside the file, or `lenient` has
// shortened them, with a line for each in `warnings`; no two overlap. An Error does not name the
// file.
[[nodiscard]] Result<Recording> read_recording(std::string_view file, bool lenient,
                                               std::vector<std::string>& warnings);

}  // namespace e4r::trace::dat
