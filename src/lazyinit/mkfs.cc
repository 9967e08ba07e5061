// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/mkfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <optional>
#include <vector>

#include "lazyinit/ext4_tables.h"
#include "lazyinit/features.h"
#include "lazyinit/place.h"
#include "lazyinit/target_io.h"
#include "util/fd.h"
#include "util/parallel.h"

namespace e4r::lazyinit {
namespace {

// More threads do not make a single device faster, but a few hide the wait for descriptors and
// syncs.
constexpr unsigned kDefaultThreads = 4;

std::uint64_t bytes_of(std::span<const ByteRange> ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const ByteRange& r) { return sum + r.length; });
}

class Finish {
 public:
  Finish(Target& target, Tables& tables, std::span<const ByteRange> journal,
         const MkfsOptions& options)
      : target_(target), tables_(tables), journal_(journal), options_(options) {
    outcome_.groups = static_cast<std::uint32_t>(tables.tables().size());
    outcome_.group_checksums = tables.has_group_checksums();
    for (const Table& table : tables.tables()) {
      outcome_.table_bytes += table.whole.length;
      // mke2fs flags the tables that it skips only if it has discarded the blocks and relies on
      // them reading as zeros.
      discarded_ |= table.zeroed;
    }
  }

  Status run(std::uint64_t seed, const std::atomic<bool>* stop,
             const std::function<void(const ZeroProgress&)>& progress) {
    tables_.write_copies_too(true);
    E4R_CHECK(set_mount_options());
    if (options_.init == TableInit::prezeroed) {
      E4R_CHECK(believe(seed));
    } else {
      E4R_CHECK(zero_journal());
      if (options_.init == TableInit::lazy) E4R_CHECK(leave_all());
      if (options_.init != TableInit::lazy && options_.changes_tables())
        E4R_CHECK(zero(stop, progress));
    }
    if (durable_) return {};
    E4R_CHECK(tables_.flush());
    return target_.sync();
  }

  [[nodiscard]] const MkfsOutcome& outcome() const { return outcome_; }

 private:
  Status set_mount_options() {
    if (!options_.init_itable) return {};
    E4R_TRY(const std::string text,
            with_init_itable(tables_.mount_options(), *options_.init_itable));
    return tables_.set_mount_options(text);
  }

  [[nodiscard]] std::optional<ZeroBy> how_to_zero_journal() const {
    if (options_.init == TableInit::write) return ZeroBy::writing;
    if (options_.init == TableInit::discard) return ZeroBy::punching;
    if (options_.journal) return ZeroBy::cheapest;
    if (discarded_ && !target_.is_block_device()) return ZeroBy::punching;
    return std::nullopt;
  }

  Status zero_journal() {
    const std::optional<ZeroBy> by = how_to_zero_journal();
    if (!by) return {};
    outcome_.journal_bytes = bytes_of(journal_);
    for (const ByteRange& range : journal_) {
      Zeroed zeroed{ZeroMethod::zero_range, 0, range.length};
      if (by != ZeroBy::cheapest || !reads_as_zeros(range)) {
        E4R_TRY(zeroed, target_.zero(range.offset, range.length, *by));
      }
      outcome_.journal_written += zeroed.written;
      outcome_.journal_avoided += zeroed.holes;
      outcome_.journal_zeroed += range.length - zeroed.written - zeroed.holes;
    }
    return {};
  }

  bool reads_as_zeros(const ByteRange& range) {
    const auto probed = target_.probe(range.offset, range.length);
    return probed.ok() && probed->content == Content::zeros;
  }

  Status zero(const std::atomic<bool>* stop,
              const std::function<void(const ZeroProgress&)>& progress) {
    if (!outcome_.group_checksums) return {};
    mark_all(false);
    // mke2fs zeroed the table blocks that were in use at that time, but it made further inodes
    // later. So never-used inodes next to these may not be zero.
    E4R_TRY([[maybe_unused]] const std::uint64_t slack, zero_slack(target_, tables_));
    std::vector<std::uint32_t> groups(outcome_.groups);
    std::iota(groups.begin(), groups.end(), 0u);
    ZeroOptions zeroing;
    zeroing.threads = threads();
    if (options_.init == TableInit::write) zeroing.by = ZeroBy::writing;
    if (options_.init == TableInit::discard) zeroing.by = ZeroBy::punching;
    zeroing.probe = options_.init == TableInit::probe;
    zeroing.sync_every = ~std::uint64_t{0};  // no flag is written before the end
    zeroing.stop = stop;
    E4R_TRY(outcome_.zeroing, zero_tables(target_, tables_, groups, zeroing, progress));
    outcome_.table_bytes_avoided = outcome_.zeroing.bytes_avoided;
    durable_ = outcome_.zeroing.zeroed + outcome_.zeroing.found_zero != 0;
    for (const Table& table : tables_.tables())
      if (!table.zeroed) leave(table);
    return {};
  }

  Status believe(std::uint64_t seed) {
    outcome_.seed = seed;
    const auto journal = options_.journal ? journal_ : std::span<const ByteRange>();
    const std::vector<ZeroRange> parts = parts_of(tables_, journal);
    const std::uint32_t size = tables_.block_size();
    E4R_TRY(outcome_.checked, options_.verify_all ? check_all_zero(target_, parts, size, threads())
                                                  : check_sample_zero(target_, parts, size, seed));
    if (outcome_.checked.bad) {
      E4R_CHECK(zero_journal());
      return leave_all();
    }
    if (options_.journal)
      outcome_.journal_bytes = outcome_.journal_avoided = bytes_of(journal_);
    else
      E4R_CHECK(zero_journal());
    if (!outcome_.group_checksums) return {};
    outcome_.believed = outcome_.groups;
    outcome_.table_bytes_avoided = outcome_.table_bytes;
    E4R_CHECK(target_.sync());
    mark_all(true);
    return {};
  }

  Status leave_all() {
    if (!outcome_.group_checksums) return {};
    for (const Table& table : tables_.tables()) {
      leave(table);
      outcome_.table_bytes_avoided += table.whole.length - table.unused_part.length;
    }
    mark_all(false);
    return {};
  }

  void leave(const Table& table) {
    ++outcome_.lazy;
    outcome_.table_bytes_later += table.unused_part.length;
  }

  // Changes memory only. The zeros have been synced before.
  void mark_all(bool zeroed) {
    for (std::uint32_t group = 0; group < outcome_.groups; ++group)
      tables_.set_zeroed(group, zeroed);
  }

  [[nodiscard]] unsigned threads() const {
    return options_.threads != 0 ? options_.threads : std::min(kDefaultThreads, thread_count(0));
  }

  Target& target_;
  Tables& tables_;
  std::span<const ByteRange> journal_;
  const MkfsOptions& options_;
  bool discarded_ = false;  // mke2fs has discarded the device's blocks
  bool durable_ = false;    // zero_tables() has synced everything
  MkfsOutcome outcome_;
};

}  // namespace

Result<MkfsOutcome> finish_mkfs(Target& target, Tables& tables, std::span<const ByteRange> journal,
                                const MkfsOptions& options, std::uint64_t seed,
                                const std::atomic<bool>* stop,
                                const std::function<void(const ZeroProgress&)>& progress) {
  Finish finish(target, tables, journal, options);
  E4R_CHECK(finish.run(seed, stop, progress));
  return finish.outcome();
}

namespace {

struct JournalBlocks {
  std::uint64_t blocks = 0;  // number of file-system blocks
  std::uint64_t block_size = 0;
  std::vector<ByteRange> ranges;
  bool is_foreign = false;

  void add(std::uint64_t block) {
    const ByteRange one{block * block_size, block_size};
    if (!ranges.empty() && ranges.back().end() == one.offset)
      ranges.back().length += one.length;
    else
      ranges.push_back(one);
  }
};

int see_block(ext2_filsys, blk64_t* block, e2_blkcnt_t index, blk64_t, int, void* to) {
  auto& journal = *static_cast<JournalBlocks*>(to);
  journal.is_foreign = *block == 0 || *block >= journal.blocks;
  if (journal.is_foreign) return BLOCK_ABORT;
  if (index > 0) journal.add(*block);
  return 0;
}

}  // namespace

Result<std::vector<ByteRange>> journal_ranges(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  ext2_filsys fs = over->fs();
  ext2_inode inode = {};
  E4R_CHECK(over->check(ext2fs_read_inode(fs, EXT2_JOURNAL_INO, &inode), "read its journal"));
  JournalBlocks journal{ext2fs_blocks_count(fs->super), fs->blocksize, {}, false};
  if (inode.i_links_count == 0 || EXT2_I_SIZE(&inode) == 0) return journal.ranges;
  const errcode_t code =
      ext2fs_block_iterate3(fs, EXT2_JOURNAL_INO, BLOCK_FLAG_DATA_ONLY | BLOCK_FLAG_READ_ONLY,
                            nullptr, see_block, &journal);
  E4R_CHECK(over->check(code, "read its journal"));
  if (journal.is_foreign)
    return error("{}: its journal, inode {}, is damaged: run e2fsck -f {}", target.path(),
                 EXT2_JOURNAL_INO, target.path());
  return journal.ranges;
}

namespace {

constexpr std::uint64_t kReadAtOnce = 1u << 20;

std::uint64_t page_size() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Sorts the ranges and joins those that overlap or are adjacent.
std::vector<ByteRange> merge(std::vector<ByteRange> ranges) {
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

// Collects the pages that contain given ranges.
class Pages {
 public:
  void add(const ByteRange& range) {
    if (range.length == 0) return;
    const std::uint64_t begin = range.offset / page_ * page_;
    const std::uint64_t end = (range.end() + page_ - 1) / page_ * page_;
    ranges_.push_back({begin, end - begin});
  }
  // Adds the range's first and last page if the range covers only part of them.
  void add_ends(const ByteRange& range) {
    if (range.length == 0) return;
    if (range.offset % page_ != 0) add({range.offset, 1});
    if (range.end() % page_ != 0) add({range.end() - 1, 1});
  }
  [[nodiscard]] std::vector<ByteRange> all() && { return merge(std::move(ranges_)); }

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

// Writes zeros to those pages of the range that cannot be read. Returns the number of bytes
// written.
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
  for (const ByteRange& range : merge(std::move(bitmaps)))
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
