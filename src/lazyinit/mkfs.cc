// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/mkfs.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "util/parallel.h"

namespace e4r::lazyinit {
namespace {

// More do not make one device faster; some hide the wait for descriptors and syncs.
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
    outcome_.journal_bytes = bytes_of(journal);
    for (const Table& table : tables.tables()) outcome_.table_bytes += table.whole.length;
  }

  Status run(std::uint64_t seed, const std::atomic<bool>* stop,
             const std::function<void(const ZeroProgress&)>& progress) {
    E4R_CHECK(set_mount_options());
    if (options_.init == TableInit::prezeroed) {
      E4R_CHECK(believe(seed));
    } else {
      E4R_CHECK(zero_journal());
      if (options_.init == TableInit::lazy) E4R_CHECK(leave_all());
      if (options_.init == TableInit::zero || options_.init == TableInit::probe)
        E4R_CHECK(zero(stop, progress));
    }
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

  Status zero_journal() {
    for (const ByteRange& range : journal_) {
      E4R_TRY(const Probed probed, target_.probe(range.offset, range.length));
      Zeroed zeroed{ZeroMethod::zero_range, 0, range.length};
      if (probed.content != Content::zeros) {
        E4R_TRY(zeroed, target_.zero(range.offset, range.length));
      }
      outcome_.journal_written += zeroed.written;
      outcome_.journal_avoided += zeroed.holes;
      outcome_.journal_zeroed += range.length - zeroed.written - zeroed.holes;
    }
    return {};
  }

  Status zero(const std::atomic<bool>* stop,
              const std::function<void(const ZeroProgress&)>& progress) {
    if (!outcome_.group_checksums) return {};
    E4R_CHECK(mark_all(false));
    std::vector<std::uint32_t> groups(outcome_.groups);
    std::iota(groups.begin(), groups.end(), 0u);
    ZeroOptions zeroing;
    zeroing.threads = threads();
    zeroing.probe = options_.init == TableInit::probe;
    zeroing.stop = stop;
    E4R_TRY(outcome_.zeroing, zero_tables(target_, tables_, groups, zeroing, progress));
    outcome_.table_bytes_avoided = outcome_.zeroing.bytes_avoided;
    for (const Table& table : tables_.tables())
      if (!table.zeroed) leave(table);
    return {};
  }

  Status believe(std::uint64_t seed) {
    outcome_.seed = seed;
    const std::vector<Part> parts = parts_of(tables_, journal_);
    const std::uint32_t size = tables_.block_size();
    E4R_TRY(outcome_.checked, options_.verify_all ? check_all_zero(target_, parts, size, threads())
                                                  : check_sample_zero(target_, parts, size, seed));
    if (outcome_.checked.bad) {
      E4R_CHECK(zero_journal());
      return leave_all();
    }
    outcome_.journal_avoided = outcome_.journal_bytes;
    if (!outcome_.group_checksums) return {};
    outcome_.believed = outcome_.groups;
    outcome_.table_bytes_avoided = outcome_.table_bytes;
    return mark_all(true);
  }

  Status leave_all() {
    if (!outcome_.group_checksums) return {};
    for (const Table& table : tables_.tables()) {
      leave(table);
      outcome_.table_bytes_avoided += table.whole.length - table.unused_part.length;
    }
    return mark_all(false);
  }

  void leave(const Table& table) {
    ++outcome_.lazy;
    outcome_.table_bytes_later += table.unused_part.length;
  }

  Status mark_all(bool zeroed) {
    E4R_CHECK(target_.sync());
    for (std::uint32_t group = 0; group < outcome_.groups; ++group)
      tables_.set_zeroed(group, zeroed);
    return {};
  }

  [[nodiscard]] unsigned threads() const {
    return options_.threads != 0 ? options_.threads : std::min(kDefaultThreads, thread_count(0));
  }

  Target& target_;
  Tables& tables_;
  std::span<const ByteRange> journal_;
  const MkfsOptions& options_;
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
