// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>

#include "allocator/allocator.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// Leads an allocator to the recorded decision and keeps what the model would have chosen itself.
class Dictation : public allocator::Guide {
 public:
  // Both must outlive the object. The operation is a closed allocation.
  Dictation(const Op& op, const allocator::Allocator& allocator);

  // A request served from a preallocation that no inode preallocation explains was served from a
  // group preallocation.
  allocator::Mode mode(allocator::Mode by_size, bool has_prealloc) override;
  // The first size step that yields the recorded goal and leads to the recorded extent; `likely` if
  // no step does.
  allocator::SizeStep size(const allocator::Search& search, const allocator::Request& request,
                           const state::InodePreallocs* preallocs,
                           allocator::SizeStep likely) override;
  bool accepts(const allocator::Choice& choice) override;
  bool confirms(const allocator::Decision& found) override;
  [[nodiscard]] const allocator::Choice& dictated() const override { return recorded_; }

  // Whether the recorded result replaced the model's.
  [[nodiscard]] bool forced() const { return forced_; }
  // Set if forced(), the recorded criterion takes groups from order lists, and the recorded group
  // came behind the model's on a list that has held both since the start: those lists.
  [[nodiscard]] std::optional<state::OrderLists> behind_on() const {
    return forced_ ? behind_on_ : std::nullopt;
  }
  // The model's decision before the recorded result replaced it.
  [[nodiscard]] allocator::Decision judged(const allocator::Decision& decision) const;

 private:
  [[nodiscard]] bool fits(const allocator::Search& search,
                          const allocator::Normalized& normalized) const;
  [[nodiscard]] bool leads_to_find(const allocator::Search& search,
                                   const allocator::Normalized& normalized) const;

  const Op& op_;
  const allocator::Allocator& allocator_;
  allocator::Choice recorded_;
  // The goal was trimmed, and its length after normalisation was not recorded.
  bool hides_goal_;
  bool forced_ = false;
  std::optional<state::OrderLists> behind_on_;
  allocator::Choice own_;  // set when forced
};

}  // namespace e4r::replay
