// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/quiet_points.h"

#include <sys/stat.h>

namespace e4r::replay {
namespace {

// A request that is unanswered after this many events counts as refused. The kernel emits no answer
// for a request that a full file system or a quota refuses at once.
constexpr std::uint64_t kLongest = 1 << 16;

}  // namespace

bool QuietPoints::see(const trace::Event& event) {
  using trace::EventKind;
  ++number_;
  discards_.settle(event, number_, [](const trace::Event&) {});
  if (may_be_late(event)) discards_.add(event, number_);
  switch (event.kind) {
    case EventKind::request_blocks:
      open_[event.pid] = number_;
      break;
    case EventKind::allocate_blocks:
      open_.erase(event.pid);
      break;
    case EventKind::commit_flushing:
      committing_ = true;
      break;
    case EventKind::end_commit:
      committing_ = false;
      break;
    case EventKind::free_blocks:
      if (!notes_frees_) break;
      if (S_ISREG(event.mode) && (event.flags & trace::fb::metadata) == 0)
        freeing_data_.insert(event.pid);
      else
        freeing_data_.erase(event.pid);
      break;
    default:
      break;
  }
  if (number_ % kLongest == 0) forget_unanswered();
  return open_.empty() && !committing_ && discards_.empty();
}

void QuietPoints::forget_unanswered() {
  std::erase_if(open_, [this](const auto& one) { return number_ - one.second >= kLongest; });
}

}  // namespace e4r::replay
