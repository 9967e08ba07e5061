// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/unreadable.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lazyinit/ext4_tables.h"
#include "lazyinit/journal.h"
#include "lazyinit/place.h"
#include "util/fd.h"

namespace e4r::lazyinit {
namespace {

constexpr std::uint64_t kReadAtOnce = 1u << 20;

std::uint64_t page_size() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Sorted, without overlaps, neighbours joined.
std::vector<ByteRange> merged(std::vector<ByteRange> ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  std::vector<ByteRange> out;
  for (const ByteRange& range : ranges) {
    if (out.empty() || range.offset > out.back().end())
      out.push_back(range);
    else
      out.back().length = std::max(out.back().end(), range.end()) - out.back().offset;
  }
  return out;
}

// Collects whole pages.
class Pages {
 public:
  void add(const ByteRange& range) {
    if (range.length == 0) return;
    const std::uint64_t begin = range.offset / page_ * page_;
    const std::uint64_t end = (range.end() + page_ - 1) / page_ * page_;
    ranges_.push_back({begin, end - begin});
  }
  // Adds the first and the last page if the range has only a part of them.
  void add_ends(const ByteRange& range) {
    if (range.length == 0) return;
    if (range.offset % page_ != 0) add({range.offset, 1});
    if (range.end() % page_ != 0) add({range.end() - 1, 1});
  }
  [[nodiscard]] std::vector<ByteRange> all() && { return merged(std::move(ranges_)); }

 private:
  const std::uint64_t page_ = page_size();
  std::vector<ByteRange> ranges_;
};

Result<std::vector<ByteRange>> data_in(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return error("cannot open {}: {}", path, errno_text(errno));
  std::vector<ByteRange> parts;
  for (off_t at = 0;;) {
    const off_t data = ::lseek(fd.get(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return parts;
    if (data < 0) return error("cannot find the data in {}: {}", path, errno_text(errno));
    at = ::lseek(fd.get(), data, SEEK_HOLE);
    if (at <= data) return error("cannot find the holes of {}: {}", path, errno_text(errno));
    parts.push_back({static_cast<std::uint64_t>(data), static_cast<std::uint64_t>(at - data)});
  }
}

// Writes zeros to the pages of the range that cannot be read; how many bytes.
Result<std::uint64_t> write_page_by_page(Target& target, const ByteRange& range) {
  const std::uint64_t page = page_size();
  std::vector<std::byte> bytes(page);
  std::uint64_t written = 0;
  for (std::uint64_t at = range.offset; at < range.end(); at += page) {
    const auto one = std::span(bytes).first(std::min(page, range.end() - at));
    if (target.read(at, one).ok()) continue;
    std::ranges::fill(one, std::byte{0});
    E4R_CHECK(target.write(at, one));
    written += one.size();
  }
  return written;
}

}  // namespace

Result<std::vector<ByteRange>> pages_of_rehearsal(const std::string& image, std::uint64_t offset,
                                                  bool whole_tables) {
  Pages pages;
  E4R_TRY(const std::vector<ByteRange> written, data_in(image));
  for (const ByteRange& range : written) pages.add(range);
  E4R_TRY(const std::unique_ptr<Target> target,
          Target::open(name_of({image, offset}), Target::Access::read));
  E4R_TRY(const std::unique_ptr<Ext4Tables> tables,
          Ext4Tables::open(*target, Target::Access::read));
  E4R_TRY(std::vector<ByteRange> metadata, journal_ranges(*target));
  for (const ByteRange& range : tables->metadata()) metadata.push_back(range);
  for (const ByteRange& range : metadata) pages.add_ends({offset + range.offset, range.length});
  for (const Table& table : tables->tables())
    if (whole_tables) pages.add({offset + table.whole.offset, table.whole.length});
  return std::move(pages).all();
}

Result<std::uint64_t> write_unreadable(Target& target, std::span<const ByteRange> pages) {
  std::vector<std::byte> bytes(kReadAtOnce);
  std::uint64_t written = 0;
  for (const ByteRange& range : pages) {
    const std::uint64_t end = std::min(range.end(), target.size());
    for (std::uint64_t at = range.offset; at < end; at += kReadAtOnce) {
      const ByteRange chunk{at, std::min(kReadAtOnce, end - at)};
      if (target.read(at, std::span(bytes).first(chunk.length)).ok()) continue;
      E4R_TRY(const std::uint64_t more, write_page_by_page(target, chunk));
      written += more;
    }
  }
  if (written != 0) E4R_CHECK(target.sync());
  return written;
}

Status write_unused_bitmaps(Target& target) {
  E4R_TRY(const std::unique_ptr<Ext4Tables> tables,
          Ext4Tables::open(target, Target::Access::write));
  std::vector<ByteRange> bitmaps;
  const std::uint64_t block = tables->block_size();
  for (const Table& table : tables->tables()) {
    const Descriptor descriptor = tables->descriptor(table.group);
    if (table.block_uninit) bitmaps.push_back({descriptor.block_bitmap * block, block});
    if (table.inode_uninit) bitmaps.push_back({descriptor.inode_bitmap * block, block});
  }
  for (const ByteRange& range : merged(std::move(bitmaps)))
    E4R_CHECK(target.zero(range.offset, range.length));
  return target.sync();
}

std::optional<std::uint64_t> find_unreadable(Target& target) {
  constexpr std::uint64_t kSlices = 64;
  const std::uint64_t page = page_size();
  std::vector<std::byte> bytes(page);
  for (std::uint64_t slice = 0; slice < kSlices; ++slice) {
    const std::uint64_t at = target.size() / kSlices * slice / page * page;
    if (at + page <= target.size() && !target.read(at, bytes).ok()) return at;
  }
  return std::nullopt;
}

}  // namespace e4r::lazyinit
