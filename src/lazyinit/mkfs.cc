// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/mkfs.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <vector>

#include "util/parallel.h"
#include "util/rng.h"

namespace e4r::lazyinit {
namespace {

// More do not make one device faster; two hide the wait for descriptors and syncs.
constexpr unsigned kDefaultThreads = 4;

// Unused parts in a row, as if there were nothing between them.
class Parts {
 public:
  explicit Parts(const Tables& tables) : tables_(tables.tables()) {
    ends_.reserve(tables_.size());
    for (const Table& table : tables_) ends_.push_back(total() + table.unused_part.length);
  }

  struct Place {
    std::uint32_t group = 0;
    std::uint64_t offset = 0;
  };

  [[nodiscard]] std::uint64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] Place at(std::uint64_t position) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), position);
    const auto group = static_cast<std::size_t>(end - ends_.begin());
    const ByteRange& part = tables_[group].unused_part;
    return {tables_[group].group, part.offset + part.length - (*end - position)};
  }

 private:
  std::span<const Table> tables_;
  std::vector<std::uint64_t> ends_;
};

// What was found in the range, if it is not zero.
Result<std::optional<NotZero>> look(Target& target, std::uint32_t group, ByteRange range) {
  E4R_TRY(const Probed probed, target.probe(range.offset, range.length));
  std::optional<NotZero> bad;
  if (probed.content != Content::zeros)
    bad = NotZero{group, probed.first, probed.content == Content::unreadable};
  return bad;
}

// Of several threads' findings the one in the lowest group counts, so that the answer is the same
// for any number of threads: groups are handed out in order, and none before it is skipped.
class CheckAll {
 public:
  CheckAll(Target& target, const Tables& tables) : target_(target), tables_(tables) {}

  Status run(unsigned threads, Checked& checked) {
    const auto all = tables_.tables();
    parallel_for(threads, all.size(), [&](std::size_t i) { one(all[i]); });
    if (failure_) return *failure_;
    checked.blocks = bytes_ / tables_.block_size();
    checked.bad = bad_;
    return {};
  }

 private:
  void one(const Table& table) {
    if (done_) return;
    const auto found = look(target_, table.group, table.unused_part);
    const std::lock_guard lock(mutex_);
    bytes_ += table.unused_part.length;
    if (!found.ok()) {
      if (!failure_) failure_ = found.error();
    } else if (*found && (!bad_ || (*found)->group < bad_->group)) {
      bad_ = *found;
    }
    done_ = failure_ || bad_;
  }

  Target& target_;
  const Tables& tables_;
  std::atomic<bool> done_ = false;
  std::mutex mutex_;
  std::uint64_t bytes_ = 0;
  std::optional<NotZero> bad_;
  std::optional<Error> failure_;
};

Status check_sample(Target& target, const Tables& tables, const Parts& parts, std::uint64_t seed,
                    Checked& checked) {
  const std::uint64_t size = tables.block_size();
  Rng rng(seed);
  for (std::uint64_t i = 0; i < kSampleBlocks; ++i) {
    const std::uint64_t low = checked.blocks_total * i / kSampleBlocks;
    const std::uint64_t high = checked.blocks_total * (i + 1) / kSampleBlocks;
    const Parts::Place place = parts.at(rng.between(low, high - 1) * size);
    ++checked.blocks;
    E4R_TRY(checked.bad, look(target, place.group, {place.offset, size}));
    if (checked.bad) break;
  }
  return {};
}

Status mark_all(Target& target, Tables& tables, bool zeroed) {
  E4R_CHECK(target.sync());
  for (const Table& table : tables.tables()) tables.set_zeroed(table.group, zeroed);
  return {};
}

class Finish {
 public:
  Finish(Target& target, Tables& tables, const MkfsOptions& options)
      : target_(target), tables_(tables), options_(options) {
    outcome_.groups = static_cast<std::uint32_t>(tables.tables().size());
    outcome_.group_checksums = tables.has_group_checksums();
    for (const Table& table : tables.tables()) outcome_.table_bytes += table.whole.length;
    unused_bytes_ = Parts(tables).total();
  }

  Status set_mount_options() {
    if (!options_.init_itable) return {};
    E4R_TRY(const std::string text,
            with_init_itable(tables_.mount_options(), *options_.init_itable));
    return tables_.set_mount_options(text);
  }

  Status zero(const std::atomic<bool>* stop,
              const std::function<void(const ZeroProgress&)>& progress) {
    E4R_CHECK(mark_all(target_, tables_, false));
    std::vector<std::uint32_t> groups(outcome_.groups);
    std::iota(groups.begin(), groups.end(), 0u);
    ZeroOptions zeroing;
    zeroing.threads = threads();
    zeroing.probe = options_.init == TableInit::probe;
    zeroing.stop = stop;
    E4R_TRY(outcome_.zeroing, zero_tables(target_, tables_, groups, zeroing, progress));
    outcome_.bytes_avoided = outcome_.zeroing.bytes_avoided;
    for (const Table& table : tables_.tables())
      if (!table.zeroed) leave(table);
    return {};
  }

  Status believe(std::uint64_t seed) {
    outcome_.seed = seed;
    E4R_TRY(outcome_.checked, check_zero(target_, tables_, options_.verify_all, seed, threads()));
    if (outcome_.checked.bad) return leave_all();
    outcome_.believed = outcome_.groups;
    outcome_.bytes_avoided = outcome_.table_bytes;
    return mark_all(target_, tables_, true);
  }

  Status leave_all() {
    outcome_.bytes_avoided = outcome_.table_bytes - unused_bytes_;
    for (const Table& table : tables_.tables()) leave(table);
    return mark_all(target_, tables_, false);
  }

  Status flush() {
    E4R_CHECK(tables_.flush());
    return target_.sync();
  }

  MkfsOutcome outcome_;

 private:
  [[nodiscard]] unsigned threads() const {
    return options_.threads != 0 ? options_.threads : std::min(kDefaultThreads, thread_count(0));
  }

  void leave(const Table& table) {
    ++outcome_.lazy;
    outcome_.bytes_later += table.unused_part.length;
  }

  Target& target_;
  Tables& tables_;
  const MkfsOptions& options_;
  std::uint64_t unused_bytes_ = 0;
};

}  // namespace

Result<Checked> check_zero(Target& target, const Tables& tables, bool all, std::uint64_t seed,
                           unsigned threads) {
  const Parts parts(tables);
  Checked checked;
  checked.blocks_total = parts.total() / tables.block_size();
  const bool few = checked.blocks_total <= kSampleBlocks;
  E4R_CHECK(all || few ? CheckAll(target, tables).run(threads, checked)
                       : check_sample(target, tables, parts, seed, checked));
  return checked;
}

Result<MkfsOutcome> finish_mkfs(Target& target, Tables& tables, const MkfsOptions& options,
                                std::uint64_t seed, const std::atomic<bool>* stop,
                                const std::function<void(const ZeroProgress&)>& progress) {
  Finish finish(target, tables, options);
  E4R_CHECK(finish.set_mount_options());
  if (finish.outcome_.group_checksums) {
    switch (options.init) {
      case TableInit::keep:
        break;
      case TableInit::lazy:
        E4R_CHECK(finish.leave_all());
        break;
      case TableInit::zero:
      case TableInit::probe:
        E4R_CHECK(finish.zero(stop, progress));
        break;
      case TableInit::prezeroed:
        E4R_CHECK(finish.believe(seed));
        break;
    }
  }
  E4R_CHECK(finish.flush());
  return finish.outcome_;
}

}  // namespace e4r::lazyinit
