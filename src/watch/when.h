// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "util/condition.h"
#include "watch/follower.h"

namespace e4r::watch {

// A condition on the figures of a watch (util/condition.h), and how long it must hold:
// "groups_per_request > 500 for 5s". A figure is named by its key in --json, and means the recorded
// kernel's value in the last second. The prefix "minute:" selects the last minute, and "POLICY:"
// selects a shadow.
class When {
 public:
  // The Error says what is wrong with `text`.
  [[nodiscard]] static Result<When> parse(const std::string& text,
                                          std::span<const allocator::Policy* const> shadows);

  // Whether the condition has become true: it has now held for the required time, and in the last
  // picture it had not.
  [[nodiscard]] bool becomes_true(const Picture& picture);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Figure {
    std::string name;
    std::string column;
    Window window = Window::second;
    std::size_t row = 0;  // index of the row among a watch's rows
  };
  [[nodiscard]] bool holds(const Picture& picture) const;

  std::string text_;
  std::vector<Figure> figures_;
  Condition condition_;
  std::uint64_t for_ns_ = 0;
  std::optional<std::uint64_t> since_ns_;  // when the condition began to hold
  bool was_true_ = false;
};

}  // namespace e4r::watch
