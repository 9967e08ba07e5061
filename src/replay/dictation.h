// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/allocator.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// The numbers of the request events and closing events of recent requests.
class Spans {
 public:
  struct Span {
    std::uint64_t asked = 0, closed = 0;
  };
  void add(const Op& op) { ring_[op.request % kKept] = {op.request, {op.asked_at, closed_at(op)}}; }
  // Returns null if the request was too long ago or is unknown.
  [[nodiscard]] const Span* find(std::uint64_t request) const {
    const Entry& entry = ring_[request % kKept];
    return request != 0 && entry.request == request ? &entry.span : nullptr;
  }

 private:
  static constexpr std::size_t kKept = 4096;
  struct Entry {
    std::uint64_t request = 0;
    Span span;
  };
  std::vector<Entry> ring_ = std::vector<Entry>(kKept);
};

// Guides an allocator to the recorded decision, and remembers the model's own choice.
class Dictation : public allocator::Guide {
 public:
  // The arguments must outlive the object. `op` must be a closed allocation.
  Dictation(const Op& op, const allocator::Allocator& allocator, const Spans& spans);

  // Returns `by_size` for a search. For a preallocation hit, returns Mode::group if no
  // preallocation of the inode serves the request, otherwise Mode::unknown.
  allocator::Mode mode(allocator::Mode by_size, bool has_prealloc) override;
  // The first size step that yields the recorded goal and leads to the recorded extent; `likely` if
  // no step does.
  allocator::SizeStep size(const allocator::Search& search, const allocator::Request& request,
                           const state::InodePreallocs* preallocs,
                           allocator::SizeStep likely) override;
  std::uint64_t continues_from(const allocator::StreamGoals& goals, std::uint64_t ino) override;
  bool accepts(const allocator::Choice& choice) override;
  bool doubts(mb::Criterion criterion, std::uint32_t found, std::uint32_t groups_scanned) override;
  bool confirms(const allocator::Decision& found) override;
  [[nodiscard]] const allocator::Choice& dictated() const override { return recorded_; }

  // Whether the recorded result replaced the model's.
  [[nodiscard]] bool forced() const { return forced_; }
  // If forced() and the recorded criterion takes groups from order lists: the lists on which the
  // model has the recorded group after its own choice. nullopt unless both groups have been on the
  // same list since the start.
  [[nodiscard]] std::optional<state::OrderLists> lagging_lists() const {
    return forced_ ? lagging_lists_ : std::nullopt;
  }
  // The model's decision before the recorded result replaced it.
  [[nodiscard]] allocator::Decision models_decision(const allocator::Decision& decision) const;

 private:
  [[nodiscard]] bool fits(const allocator::Search& search,
                          const allocator::Normalized& normalized) const;
  [[nodiscard]] bool leads_to_find(const allocator::Search& search,
                                   const allocator::Normalized& normalized) const;

  const Op& op_;
  const allocator::Allocator& allocator_;
  const Spans& spans_;
  allocator::Choice recorded_;
  // Whether the goal was trimmed and its length after normalisation was not recorded.
  bool hides_goal_;
  bool forced_ = false;
  std::optional<state::OrderLists> lagging_lists_;
  allocator::Choice own_;  // the model's choice, set if forced
};

}  // namespace e4r::replay
