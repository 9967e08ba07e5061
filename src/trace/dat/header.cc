// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/dat/header.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "trace/dat/pages.h"
#include "trace/summary.h"
#include "util/text.h"

namespace e4r::trace::dat {

Result<Packing> parse_packing(std::string_view name) {
  if (name == "none" || name.empty()) return Packing::none;
  if (name == "zlib") return Packing::zlib;
  if (name == "zstd") return Packing::zstd;
  return error(
      "compressed with '{}', which this program does not know: unpack it with "
      "'trace-cmd convert --compression none'",
      printable(name, 32));
}

bool unpack(Packing packing, std::string_view packed, std::size_t size, std::vector<char>& out) {
  out.resize(size);
  switch (packing) {
    case Packing::none:
      out.assign(packed.begin(), packed.end());
      return packed.size() == size;
    case Packing::zlib: {
      uLongf got = size;
      return uncompress(reinterpret_cast<Bytef*>(out.data()), &got,
                        reinterpret_cast<const Bytef*>(packed.data()), packed.size()) == Z_OK &&
             got == size;
    }
    case Packing::zstd:
      return ZSTD_decompress(out.data(), size, packed.data(), packed.size()) == size;
  }
  return false;
}

namespace {

// Limits on what a file may claim, far above what trace-cmd writes.
constexpr std::uint32_t kMaxCpus = 4096;
constexpr std::size_t kMaxBuffers = 256;
constexpr std::size_t kMaxParts = 16384;
constexpr std::size_t kMaxOptionSections = 256;
constexpr std::uint32_t kMaxPage = 1U << 24;
constexpr std::size_t kMaxUnpacked = 1U << 27;  // total of all sections
constexpr std::size_t kTypeBytes = 10;          // "flyrecord" and similar words, in version 6

// The IDs of options and, in version 7, of sections.
enum Option : std::uint16_t {
  kDone = 0,
  kDate = 1,
  kCpuStat = 2,
  kBuffer = 3,
  kTraceClock = 4,
  kUname = 5,
  kOffset = 7,
  kCpuCount = 8,
  kTsc = 14,
  kHeaderInfo = 16,
  kEventFormats = 18,
};

Error truncation_error(std::string_view where) {
  return error("the file ends within {}: it is truncated", where);
}

std::int64_t signed_number(std::string_view text) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

// Extracts "mono" from "local global [mono] uptime"; returns other text unchanged.
std::string chosen_clock(std::string_view text) {
  while (text.ends_with('\0') || text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t open = text.find('['), close = text.find(']');
  if (open != std::string_view::npos && close != std::string_view::npos && close > open)
    text = text.substr(open + 1, close - open - 1);
  return printable(text);
}

// Extracts "6.1.0" from "Linux host 6.1.0 #1 SMP ... x86_64".
std::string release_of(std::string_view uname) {
  for (int i = 0; i < 2; ++i) {
    const std::size_t space = uname.find(' ');
    if (space == std::string_view::npos) return {};
    uname.remove_prefix(space + 1);
  }
  return printable(uname.substr(0, uname.find(' ')));
}

class Reader {
 public:
  Reader(std::string_view file, bool lenient, std::vector<std::string>& warnings)
      : file_(file), lenient_(lenient), warnings_(&warnings) {}

  Result<DatHeader> read() {
    if (!file_.starts_with(kMagic)) return error("is not a trace-cmd recording");
    Cursor head(file_, false);
    head.take(kMagic.size());
    const std::string_view version = head.string();
    out_.big_endian = head.number(1) != 0;
    head.number(1);  // size of a long
    Cursor c(file_, out_.big_endian);
    c.seek(head.offset());
    page_size_ = c.u32();
    if (!c.good()) return truncation_error("its head");
    if (version != "6" && version != "7")
      return error("is of version '{}' of trace-cmd's files, but this program reads 6 and 7",
                   printable(version, 16));
    out_.version = version == "6" ? 6 : 7;
    E4R_CHECK(version == "6" ? read_v6(c) : read_v7(c));
    E4R_CHECK(check_parts());
    return std::move(out_);
  }

 private:
  // ---- common to both versions

  Status read_page_shape(std::string_view text) {
    for (const EventFormat::Field& f : parse_format_fields(text)) {
      if (f.offset < 0 || f.offset > 4096) continue;
      const auto offset = static_cast<std::uint32_t>(f.offset);
      if (f.name == "timestamp") out_.page.time = offset;
      if (f.name == "data") out_.page.data = offset;
      if (f.name != "commit") continue;
      if (f.size != 4 && f.size != 8) return error("its header_page makes no sense");
      out_.page.commit = offset;
      out_.page.commit_size = static_cast<std::uint32_t>(f.size);
    }
    const PageShape& p = out_.page;
    if (p.data < p.time + 8 || p.data < p.commit + p.commit_size)
      return error("its header_page makes no sense");
    return {};
  }
  Status read_header_info(Cursor& c) {
    if (c.string() != "header_page") return error("has no header_page where it should be");
    E4R_CHECK(read_page_shape(c.take(c.u64())));
    if (c.string() != "header_event") return error("has no header_event where it should be");
    c.take(c.u64());
    return c.good() ? Status() : truncation_error("header_event");
  }
  Status read_formats(Cursor& c) {
    for (std::uint32_t systems = c.u32(); systems > 0 && c.good(); --systems) {
      const std::string_view system = c.string();
      for (std::uint32_t events = c.u32(); events > 0 && c.good(); --events)
        if (auto format = parse_event_format(c.take(c.u64()), system))
          out_.formats.push_back(std::move(*format));
    }
    return c.good() ? Status() : truncation_error("the events' formats");
  }

  Status read_option(std::uint16_t id, std::string_view data) {
    Cursor c(data, out_.big_endian);
    switch (id) {
      case kDate:  // microseconds
        return shift_time(signed_number(data), 1000);
      case kOffset:
        return shift_time(signed_number(data), 1);
      case kCpuStat:
        out_.overwritten += lost_by_stats(data);
        return {};
      case kTraceClock:
        clock_ = chosen_clock(data);
        return {};
      case kUname:
        out_.release = release_of(data.substr(0, data.find('\0')));
        return {};
      case kCpuCount:
        cpu_count_ = c.u32();
        return {};
      case kTsc:
        out_.time.multiplier = c.u32();
        out_.time.shift = c.u32();
        out_.time.start = c.u64();
        if (out_.time.shift > 63) return error("its TSC2NSEC makes no sense");
        return {};
      case kBuffer:
        if (out_.buffers.size() + instances_.size() >= kMaxBuffers)
          return error("claims more than {} buffers", kMaxBuffers);
        return out_.version == 6 ? read_instance(c) : read_buffer(c);
      default:
        return out_.version == 7 ? read_section_option(id, c) : Status();
    }
  }

  Status shift_time(std::int64_t count, std::int64_t unit_ns) {
    if (__builtin_mul_overflow(count, unit_ns, &count) ||
        __builtin_add_overflow(out_.time.offset, count, &out_.time.offset))
      return error("its DATE or OFFSET makes no sense");
    return {};
  }

  // ---- version 6: all parts in a fixed sequence

  Status read_v6(Cursor& c) {
    E4R_CHECK(read_header_info(c));
    for (std::uint32_t events = c.u32(); events > 0 && c.good(); --events) c.take(c.u64());
    E4R_CHECK(read_formats(c));
    c.take(c.u32());  // kallsyms
    c.take(c.u32());  // printk formats
    c.take(c.u64());  // command names
    cpu_count_ = c.u32();
    E4R_CHECK(read_data_v6(c, ""));
    for (const auto& [name, offset] : instances_) {
      Cursor part(file_, out_.big_endian);
      part.seek(offset);
      E4R_CHECK(read_data_v6(part, name));
    }
    return {};
  }
  Status read_options_v6(Cursor& c) {
    while (c.good()) {
      const std::uint16_t id = c.u16();
      if (id == kDone) return {};
      const std::uint32_t size = c.u32();
      E4R_CHECK(read_option(id, c.take(size)));
    }
    return truncation_error("its options");
  }
  // Reads the part after the options: the locations of the CPUs' data, and the clock.
  Status read_data_v6(Cursor& c, std::string_view name) {
    std::string_view type = c.take(kTypeBytes);
    if (type.starts_with("options")) {
      E4R_CHECK(read_options_v6(c));
      type = c.take(kTypeBytes);
    }
    if (!c.good()) return truncation_error("its head");
    if (!type.starts_with("flyrecord")) return no_records(type.starts_with("latency"));
    if (cpu_count_ > kMaxCpus) return error("claims {} CPUs", cpu_count_);
    Buffer buffer;
    buffer.name = name;
    buffer.page_size = page_size_;
    for (std::uint32_t cpu = 0; cpu < cpu_count_; ++cpu) {
      const std::uint64_t offset = c.u64();
      buffer.cpus.push_back({cpu, offset, c.u64()});
    }
    if (!c.good()) return truncation_error("the places of the CPUs' data");
    // Later versions of trace-cmd added the clock. Files of older versions have their pages at this
    // place.
    Cursor clock = c;
    const std::uint64_t size = clock.u64();
    if (size > 0 && size < 1024) buffer.clock = chosen_clock(clock.take(size));
    out_.buffers.push_back(std::move(buffer));
    return {};
  }
  Status read_instance(Cursor& c) {
    const std::uint64_t offset = c.u64();
    instances_.emplace_back(printable(c.string()), offset);
    return {};
  }

  // ---- version 7: sections, to which the options point

  // A section's head and, on request, its content.
  struct Section {
    std::uint16_t id = 0;
    bool packed = false;
    std::string_view content;
    std::vector<char> unpacked;
  };
  Status read_section(std::uint64_t offset, std::uint16_t id, bool content, Section& s) {
    Cursor c(file_, out_.big_endian);
    c.seek(offset);
    s.id = c.u16();
    s.packed = (c.u16() & 1) != 0;
    c.u32();  // the ID of the section's description
    const std::uint64_t size = c.u64();
    if (!c.good())
      return error("section {} at byte {} is beyond the end: it is truncated", id, offset);
    if (s.id != id) return error("has no section {} at byte {}", id, offset);
    if (!content) return {};
    if (!s.packed) {
      s.content = c.take(size);
      return c.good() ? Status() : truncation_error(fmt::format("section {}", id));
    }
    const std::uint32_t packed = c.u32(), unpacked = c.u32();
    const std::string_view data = c.take(packed);
    if (!c.good()) return truncation_error(fmt::format("section {}", id));
    unpacked_ += unpacked;
    if (unpacked_ > kMaxUnpacked || !unpack(packing_, data, unpacked, s.unpacked))
      return error("section {} at byte {} cannot be unpacked", id, offset);
    s.content = {s.unpacked.data(), s.unpacked.size()};
    return {};
  }

  Status read_v7(Cursor& c) {
    const std::string_view packing = c.string();
    c.string();  // the version of the compression library
    std::uint64_t options = c.u64();
    if (!c.good()) return truncation_error("its head");
    E4R_TRY(packing_, parse_packing(packing));
    std::size_t sections = 0;
    while (options != 0) {
      if (++sections > kMaxOptionSections) return error("its options have no end");
      E4R_TRY(options, read_options_v7(options));
    }
    if (out_.buffers.empty()) return no_records(text_);
    return {};
  }
  // Returns the offset of the next options; 0 after the last options.
  Result<std::uint64_t> read_options_v7(std::uint64_t offset) {
    Section section;
    E4R_CHECK(read_section(offset, kDone, true, section));
    Cursor c(section.content, out_.big_endian);
    while (c.good() && c.left() > 0) {
      const std::uint16_t id = c.u16();
      const std::string_view data = c.take(c.u32());
      if (!c.good()) break;
      if (id == kDone) return Cursor(data, out_.big_endian).u64();
      E4R_CHECK(read_option(id, data));
    }
    return truncation_error("its options");
  }
  Status read_section_option(std::uint16_t id, Cursor& c) {
    constexpr std::uint16_t kText = 22;
    text_ |= id == kText;
    if (id != kHeaderInfo && id != kEventFormats) return {};
    // Rejects repeated sections, because with them a small file could cause unbounded work.
    if (std::exchange(seen_[id == kEventFormats], true)) return error("has section {} twice", id);
    Section section;
    E4R_CHECK(read_section(c.u64(), id, true, section));
    Cursor content(section.content, out_.big_endian);
    return id == kHeaderInfo ? read_header_info(content) : read_formats(content);
  }
  Status read_buffer(Cursor& c) {
    Section section;
    E4R_CHECK(read_section(c.u64(), kBuffer, false, section));
    Buffer buffer;
    buffer.packing = section.packed ? packing_ : Packing::none;
    buffer.name = printable(c.string());
    buffer.clock = chosen_clock(c.string());
    buffer.page_size = c.u32();
    const std::uint32_t cpus = c.u32();
    if (cpus > kMaxCpus) return error("claims {} CPUs", cpus);
    for (std::uint32_t i = 0; i < cpus && c.good(); ++i) {
      CpuPart part;
      part.cpu = c.u32();
      part.offset = c.u64();
      part.size = c.u64();
      // The stored size excludes the number of chunks (4 bytes) before the first chunk.
      if (buffer.packing != Packing::none && part.size > 0 && part.size < file_.size())
        part.size += 4;
      buffer.cpus.push_back(part);
    }
    if (!c.good()) return truncation_error("the places of the CPUs' data");
    out_.buffers.push_back(std::move(buffer));
    return {};
  }

  // ---- the whole file

  static Error no_records(bool text) {
    if (text)
      return error(
          "holds a latency tracer's text and no records: print it with 'trace-cmd report'");
    return error("holds no buffer: was the recording finished?");
  }

  // Checks that every part lies inside the file and that no parts overlap.
  Status check_parts() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (Buffer& buffer : out_.buffers) {
      if (buffer.clock.empty()) buffer.clock = clock_;
      const std::uint32_t page = buffer.page_size;
      if (page <= out_.page.data || page > kMaxPage || page % 8 != 0)
        return error("claims pages of {} bytes", page);
      for (CpuPart& part : buffer.cpus) {
        if (part.cpu > UINT16_MAX) return error("claims a CPU {}", part.cpu);
        if (part.size == 0) continue;
        E4R_CHECK(check_part(part));
        places.emplace_back(part.offset, part.offset + part.size);
        if (places.size() > kMaxParts) return error("claims data of too many CPUs");
      }
    }
    std::ranges::sort(places);
    for (std::size_t i = 1; i < places.size(); ++i)
      if (places[i].first < places[i - 1].second)
        return error("has data of two CPUs at byte {}", places[i].first);
    return {};
  }
  Status check_part(CpuPart& part) {
    const std::uint64_t end = file_.size();
    if (part.offset <= end && part.size <= end - part.offset) return {};
    Error e = error("the data of CPU {} reach beyond the end: it is truncated", part.cpu);
    if (!lenient_) return e;
    warnings_->push_back(std::move(e.message));
    part.offset = std::min(part.offset, end);
    part.size = end - part.offset;
    return {};
  }

  std::string_view file_;
  bool lenient_;
  std::vector<std::string>* warnings_;
  DatHeader out_;
  std::uint32_t page_size_ = 0;
  std::uint32_t cpu_count_ = 0;
  std::string clock_;
  Packing packing_ = Packing::none;
  std::size_t unpacked_ = 0;
  std::vector<std::pair<std::string, std::uint64_t>> instances_;  // version 6: name and offset
  bool seen_[2] = {};
  bool text_ = false;
};

}  // namespace

std::uint64_t TimeRule::apply(std::uint64_t stamp) const {
  if (multiplier != 0) {
    __extension__ using Wide = unsigned __int128;
    stamp = static_cast<std::uint64_t>(static_cast<Wide>(stamp - start) * multiplier >> shift);
  }
  return stamp + static_cast<std::uint64_t>(offset);
}

Result<DatHeader> read_dat_header(std::string_view file, bool lenient,
                                  std::vector<std::string>& warnings) {
  return Reader(file, lenient, warnings).read();
}

}  // namespace e4r::trace::dat
