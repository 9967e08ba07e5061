// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "support/busy_fs.h"
#include "support/model_look.h"
#include "watch/follower.h"

namespace e4r::test {

// A run of a policy of which only the second half is observed: a start image from the middle, the
// counters of its groups, and the events since then.
class HalfSeen {
 public:
  explicit HalfSeen(std::string_view policy, std::uint32_t steps = 300, std::uint64_t seed = 1)
      : busy_(policy, model_shape("blocks_4k_forty_groups"), seed) {
    busy_.work.run(300);
    busy_.work.commit_everything();
    const std::size_t from = busy_.work.events().size();
    look_.emplace(busy_.rig.state, busy_.fs.source().metadata);
    busy_.work.run(steps);
    busy_.work.commit_everything();
    events_ = std::span(busy_.work.events()).subspan(from);
  }

  [[nodiscard]] std::span<const trace::Event> events() const { return events_; }
  [[nodiscard]] const std::vector<state::MbGroup>& groups() const { return look_->shown(); }
  [[nodiscard]] const state::Source& source() const { return look_->source(); }

  // Returns the start point. With `knows`, it includes all state in memory that the events show.
  [[nodiscard]] watch::StartPoint start(bool knows) const {
    watch::StartPoint out{.source = source(),
                          .image_path = {},
                          .tunables = busy_.rig.tunables,
                          .policy = &busy_.rig.allocator.policy()};
    MemorySource events(knows ? events_ : events_.first(0));
    out.warm = *replay::deduce_warm_start(source(), events, groups(), out.tunables.mb_stream_req);
    return out;
  }

 private:
  BusyFs busy_;
  std::optional<ModelLook> look_;
  std::span<const trace::Event> events_;
};

}  // namespace e4r::test
