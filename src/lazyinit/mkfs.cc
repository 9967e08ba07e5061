// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/mkfs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "util/parallel.h"

namespace e4r::lazyinit {
namespace {

// More threads do not make one device faster. A few hide the wait for descriptors and syncs.
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
      // mke2fs flags tables that it skips only if it has discarded and relies on zeros.
      discarded_ |= table.zeroed;
    }
  }

  Status run(std::uint64_t seed, const std::atomic<bool>* stop,
             const std::function<void(const ZeroProgress&)>& progress) {
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
    std::vector<std::uint32_t> groups(outcome_.groups);
    std::iota(groups.begin(), groups.end(), 0u);
    ZeroOptions zeroing;
    zeroing.threads = threads();
    zeroing.by = options_.init == TableInit::write ? ZeroBy::writing : ZeroBy::cheapest;
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
    const std::vector<Part> parts = parts_of(tables_, journal);
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
  bool discarded_ = false;  // mke2fs has discarded
  bool durable_ = false;    // zero_tables() has flushed everything
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

}  // namespace e4r::lazyinit
