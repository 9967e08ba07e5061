// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/dat/header.h"

namespace e4r::trace::test {

// Appends numbers in one byte order.
class Bytes {
 public:
  explicit Bytes(bool big_endian) : big_endian_(big_endian) {}
  Bytes& number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i)
      out += static_cast<char>(value >> 8 * (big_endian_ ? size - 1 - i : i));
    return *this;
  }
  Bytes& text(std::string_view text) {
    out += text;
    return *this;
  }
  Bytes& sized(std::string_view text, int size) { return number(text.size(), size).text(text); }
  std::string out;

 private:
  bool big_endian_;
};

inline std::string packed(dat::Packing packing, const std::string& plain) {
  if (packing == dat::Packing::none) return plain;
  std::string out(plain.size() + 1024, '\0');
  if (packing == dat::Packing::zstd) {
    out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 3));
    return out;
  }
  uLongf size = out.size();
  compress(reinterpret_cast<Bytef*>(out.data()), &size,
           reinterpret_cast<const Bytef*>(plain.data()), plain.size());
  out.resize(size);
  return out;
}

// Builds a page of a ring buffer. In a page, the time of each record is relative to the previous
// record.
class PageBuilder {
 public:
  static constexpr std::size_t kSize = 4096;
  PageBuilder(bool big_endian, std::uint64_t time, int commit_size = 8)
      : big_endian_(big_endian), time_(time), commit_size_(commit_size), records_(big_endian) {}

  PageBuilder& record(std::uint32_t delta, std::string data, bool length_apart = false) {
    data.resize((data.size() + 3) / 4 * 4);
    if (!length_apart) return word(static_cast<unsigned>(data.size() / 4), delta).text(data);
    word(0, delta);
    records_.number(data.size() + 4, 4);
    return text(data);
  }
  PageBuilder& extend(std::uint64_t delta) {
    word(30, delta & 0x7ffffff);
    records_.number(delta >> 27, 4);
    return *this;
  }
  PageBuilder& stamp(std::uint64_t time) {
    word(31, time & 0x7ffffff);
    records_.number(time >> 27 & 0xffffffff, 4);
    return *this;
  }
  PageBuilder& padding(std::uint32_t delta, std::uint32_t length) {
    word(29, delta);
    records_.number(length, 4);
    return text(std::string(length - 4, 'x'));
  }
  PageBuilder& word(unsigned kind, std::uint64_t delta) {
    records_.number(big_endian_ ? std::uint64_t{kind} << 27 | delta : delta << 5 | kind, 4);
    return *this;
  }
  // Returns the page. `flags` are set in the commit word, and `behind` is written after the
  // committed bytes.
  std::string build(std::uint64_t flags = 0, std::uint64_t behind = 0) const {
    Bytes page(big_endian_);
    page.number(time_, 8).number(records_.out.size() | flags, commit_size_).text(records_.out);
    page.number(behind, commit_size_);
    page.out.resize(kSize);
    return page.out;
  }

 private:
  PageBuilder& text(std::string_view data) {
    records_.text(data);
    return *this;
  }
  bool big_endian_;
  std::uint64_t time_;
  int commit_size_;
  Bytes records_;
};

// Writes a trace.dat in the format of trace-cmd.dat.v6(5) and v7(5).
struct DatBuilder {
  struct Part {
    std::string name;
    std::vector<std::string> cpus;  // the pages of each CPU
  };

  int version = 7;
  bool big_endian = false;
  dat::Packing packing = dat::Packing::none;
  int commit_size = 8;
  std::string packing_name;                                  // default: the name of `packing`
  std::vector<std::pair<std::string, std::string>> formats;  // system, text
  std::vector<Part> buffers;
  std::vector<std::pair<int, std::string>> options;

  [[nodiscard]] std::string build() const { return version == 6 ? build_v6() : build_v7(); }
  [[nodiscard]] Bytes bytes() const { return Bytes(big_endian); }

 private:
  [[nodiscard]] std::string head() const {
    Bytes b(big_endian);
    b.text(dat::kMagic).text(std::to_string(version)).number(0, 1).number(big_endian, 1);
    return b.number(8, 1).number(PageBuilder::kSize, 4).out;
  }
  [[nodiscard]] std::string header_info() const {
    const std::string size = std::to_string(commit_size);
    Bytes b(big_endian);
    b.text("header_page")
        .number(0, 1)
        .sized(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
            "\tfield: local_t commit;\toffset:8;\tsize:" +
                size +
                ";\tsigned:1;\n"
                "\tfield: char data;\toffset:" +
                std::to_string(8 + commit_size) + ";\tsize:4080;\tsigned:0;\n",
            8);
    return b.text("header_event").number(0, 1).sized("# compressed entry header\n", 8).out;
  }
  [[nodiscard]] std::string event_formats() const {
    Bytes b(big_endian);
    b.number(formats.size(), 4);
    for (const auto& [system, text] : formats)
      b.text(system).number(0, 1).number(1, 4).sized(text, 8);
    return b.out;
  }

  [[nodiscard]] std::string build_v6() const {
    Bytes b(big_endian);
    b.text(head()).text(header_info()).number(0, 4).text(event_formats());
    b.sized("0 t symbol\n", 4).sized("", 4).sized("1 init\n", 8);
    b.number(buffers.front().cpus.size(), 4).text(std::string_view("options  \0", 10));
    for (const auto& [id, data] : options) b.number(static_cast<unsigned>(id), 2).sized(data, 4);
    std::string out = b.out;
    // Each instance has an option with the offset of the instance's data. The offset depends on the
    // size of all options.
    std::size_t instances = 0;
    for (std::size_t i = 1; i < buffers.size(); ++i)
      instances += 2 + 4 + 9 + buffers[i].name.size();
    std::size_t place = page_aligned(out.size() + instances + 4096);
    std::string tail;
    for (std::size_t i = 1; i < buffers.size(); ++i) {
      const std::string part = places_v6(buffers[i], place + tail.size());
      Bytes option(big_endian);
      option.number(3, 2).sized(
          Bytes(big_endian).number(place + tail.size(), 8).text(buffers[i].name).number(0, 1).out,
          4);
      out += option.out;
      tail += part;
    }
    out += Bytes(big_endian).number(0, 2).out;
    std::string top = places_v6(buffers.front(), place + tail.size());
    // The table of the top buffer comes first. Its pages come after the instances.
    const std::size_t table = 10 + 16 * buffers.front().cpus.size() + 8 + 6;
    out += top.substr(0, table);
    out.resize(place);
    return out + tail + top;
  }
  static std::size_t page_aligned(std::size_t size) { return (size + 4095) / 4096 * 4096; }
  // Returns the table of a buffer's CPUs, which is at offset `place` of the file, and the pages of
  // these CPUs.
  [[nodiscard]] std::string places_v6(const Part& part, std::size_t place) const {
    Bytes b(big_endian);
    b.text(std::string_view("flyrecord\0", 10));
    std::size_t at = place + 4096;
    for (const std::string& pages : part.cpus) {
      b.number(at, 8).number(pages.size(), 8);
      at += pages.size();
    }
    b.sized("[mono]", 8);
    b.out.resize(4096);
    for (const std::string& pages : part.cpus) b.text(pages);
    return b.out;
  }

  static constexpr std::string_view name_of(dat::Packing packing) {
    constexpr std::string_view kNames[] = {"none", "zlib", "zstd"};
    return kNames[static_cast<int>(packing)];
  }
  [[nodiscard]] std::string section(unsigned id, const std::string& content) const {
    Bytes b(big_endian);
    b.number(id, 2).number(packing != dat::Packing::none, 2).number(0, 4);
    if (packing == dat::Packing::none) return b.sized(content, 8).out;
    const std::string data = packed(packing, content);
    return b.number(data.size() + 8, 8)
        .number(data.size(), 4)
        .number(content.size(), 4)
        .text(data)
        .out;
  }
  // Returns one CPU's data. Sets `size` to the size that the option states.
  [[nodiscard]] std::string cpu_data(const std::string& pages, std::size_t& size) const {
    size = pages.size();
    if (packing == dat::Packing::none || pages.empty()) return pages;
    Bytes b(big_endian);
    b.number((pages.size() + 8191) / 8192, 4);
    for (std::size_t at = 0; at < pages.size(); at += 8192) {
      const std::string chunk = pages.substr(at, 8192), data = packed(packing, chunk);
      b.number(data.size(), 4).number(chunk.size(), 4).text(data);
    }
    size = b.out.size() - 4;
    return b.out;
  }
  [[nodiscard]] std::string build_v7() const {
    std::string out = head();
    out += packing_name.empty() ? std::string(name_of(packing)) : packing_name;
    out += std::string_view(
        "\0"
        "1.0\0",
        5);
    const std::size_t pointer = out.size();
    out.resize(out.size() + 8);
    Bytes first(big_endian);
    const auto point = [&](Bytes& list, unsigned id, const std::string& content) {
      list.number(id, 2).number(8, 4).number(out.size(), 8);
      out += section(id, content);
    };
    point(first, 16, header_info());
    point(first, 18, event_formats());
    for (const auto& [id, data] : options)
      first.number(static_cast<unsigned>(id), 2).sized(data, 4);
    Bytes second(big_endian);
    for (const Part& part : buffers) add_buffer(out, second, part);
    second.number(0, 2).number(8, 4).number(0, 8);
    first.number(0, 2).number(8, 4).number(out.size(), 8);
    out += plain_section(second.out);
    const std::string at = Bytes(big_endian).number(out.size(), 8).out;
    out.replace(pointer, 8, at);
    return out + plain_section(first.out);
  }
  [[nodiscard]] std::string plain_section(const std::string& content) const {
    return Bytes(big_endian).number(0, 2).number(0, 2).number(0, 4).sized(content, 8).out;
  }
  void add_buffer(std::string& out, Bytes& list, const Part& part) const {
    Bytes option(big_endian);
    option.number(out.size(), 8).text(part.name).number(0, 1).text("mono").number(0, 1);
    option.number(PageBuilder::kSize, 4).number(part.cpus.size(), 4);
    out += Bytes(big_endian)
               .number(3, 2)
               .number(packing != dat::Packing::none, 2)
               .number(0, 4)
               .number(0, 8)
               .out;
    for (std::size_t cpu = 0; cpu < part.cpus.size(); ++cpu) {
      std::size_t size = 0;
      const std::string data = cpu_data(part.cpus[cpu], size);
      option.number(cpu, 4).number(out.size(), 8).number(size, 8);
      out += data;
    }
    list.number(3, 2).sized(option.out, 4);
  }
};

}  // namespace e4r::trace::test
