// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>

#include "allocator/allocator.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// Leads an allocator to the decision that the trace recorded, and keeps what the model would have
// chosen itself.
class Dictation : public allocator::Guide {
 public:
  // Both must outlive the object; the operation is a closed allocation.
  Dictation(const Op& op, const allocator::Allocator& allocator);

  // Served from a preallocation that no preallocation of the inode explains, it was one of the
  // group's.
  allocator::Mode mode(allocator::Mode by_size, bool has_prealloc) override;
  // The first step that makes of the request the goal that the trace shows, and leads to what was
  // found; `likely` if none does.
  allocator::SizeStep size(const allocator::Search& search, const allocator::Request& request,
                           const state::InodePreallocs* preallocs,
                           allocator::SizeStep likely) override;
  bool accepts(const allocator::Choice& choice) override;
  bool confirms(const allocator::Decision& found) override;
  [[nodiscard]] const allocator::Choice& dictated() const override { return recorded_; }

  // Whether the recorded result was put in place of the model's.
  [[nodiscard]] bool forced() const { return forced_; }
  // Then, if the recorded criterion takes its groups from order lists, and the recorded group came
  // behind the model's on one where both have been since the start: those lists.
  [[nodiscard]] std::optional<state::OrderLists> behind_on() const {
    return forced_ ? behind_on_ : std::nullopt;
  }
  // The decision as the model made it, before that.
  [[nodiscard]] allocator::Decision judged(const allocator::Decision& decision) const;

 private:
  [[nodiscard]] bool fits(const allocator::Search& search,
                          const allocator::Normalized& normalized) const;
  [[nodiscard]] bool leads_to_find(const allocator::Search& search,
                                   const allocator::Normalized& normalized) const;

  const Op& op_;
  const allocator::Allocator& allocator_;
  allocator::Choice recorded_;
  // The goal was trimmed, and what normalisation had made it was not recorded.
  bool hides_goal_;
  bool forced_ = false;
  std::optional<state::OrderLists> behind_on_;
  allocator::Choice own_;  // when forced
};

}  // namespace e4r::replay
