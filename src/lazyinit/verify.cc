// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/verify.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "util/parallel.h"

namespace e4r::lazyinit {
namespace {

class Check {
 public:
  Check(Target& target, std::vector<Table> flagged, const std::atomic<bool>* stop,
        const std::function<void(const VerifyProgress&)>& progress)
      : target_(target), flagged_(std::move(flagged)), stop_(stop), progress_(progress) {
    for (const Table& table : flagged_) state_.bytes_total += table.unused_part.length;
  }

  Result<Verified> all(unsigned threads) {
    parallel_for(threads, flagged_.size(), [this](std::size_t i) { one(flagged_[i]); });
    if (failure_) return *failure_;
    std::sort(verified_.lies.begin(), verified_.lies.end(),
              [](const Lie& a, const Lie& b) { return a.group < b.group; });
    verified_.stopped = verified_.checked < flagged_.size();
    return verified_;
  }

 private:
  void one(const Table& table) {
    if (stop_ != nullptr && *stop_) return;
    const ByteRange range = table.unused_part;
    auto probed = range.length == 0 ? Result<Probed>(Probed{Content::zeros, 0, 0})
                                    : target_.probe(range.offset, range.length);
    const std::lock_guard lock(mutex_);
    if (!probed.ok()) {
      if (!failure_) failure_ = probed.error();
      return;
    }
    ++verified_.checked;
    verified_.bytes += range.length;
    verified_.read += probed->read;
    if (probed->content != Content::zeros)
      verified_.lies.push_back({table.group, probed->content, probed->first});
    state_.bytes_done += range.length;
    if (progress_) progress_(state_);
  }

  Target& target_;
  const std::vector<Table> flagged_;
  const std::atomic<bool>* stop_;
  const std::function<void(const VerifyProgress&)>& progress_;
  std::mutex mutex_;  // guards what follows
  Verified verified_;
  VerifyProgress state_;
  std::optional<Error> failure_;
};

}  // namespace

Result<Verified> verify_tables(Target& target, std::span<const Table> groups, unsigned threads,
                               const std::atomic<bool>* stop,
                               const std::function<void(const VerifyProgress&)>& progress) {
  std::vector<Table> flagged;
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(flagged),
               [](const Table& table) { return table.zeroed; });
  return Check(target, std::move(flagged), stop, progress).all(thread_count(threads));
}

Status retract(Target& target, Tables& tables, std::span<const Lie> lies) {
  for (const Lie& lie : lies) tables.set_zeroed(lie.group, false);
  E4R_CHECK(tables.flush());
  return target.sync();
}

}  // namespace e4r::lazyinit
