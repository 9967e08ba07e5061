// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "replay/op_stream.h"
#include "state/freed_list.h"
#include "state/pretence.h"

namespace e4r::replay {

using Freed = state::FreedList::Entry;

// Changes free space for a trial, and undoes that at the end.
class Trial : public state::Pretence {
 public:
  using Pretence::Pretence;

  // Frees the clusters. Returns false if some of them are not in use.
  bool give(std::uint32_t group, std::uint32_t start, std::uint32_t count) {
    return change(group, start, count, true);
  }
  bool give(const Freed& entry) { return give(entry.group, entry.start, entry.count); }
  // Takes the clusters. Returns false if some of them are not free.
  bool take(std::uint32_t group, std::uint32_t start, std::uint32_t count) {
    return change(group, start, count, false);
  }
  bool take(const Freed& entry) { return take(entry.group, entry.start, entry.count); }
};

// The clusters of an allocation.
struct Taken {
  explicit Taken(const Op& op)
      : group(op.closing.result.group),
        start(static_cast<std::uint32_t>(op.closing.result.start)),
        count(op.closing.result.len) {}
  std::uint32_t group, start, count;
};

}  // namespace e4r::replay
