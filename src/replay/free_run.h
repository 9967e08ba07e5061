// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "replay/what_if.h"

namespace e4r::replay {

// Decides alone from start to end and compares with the recorded kernel.
class FreeRun : public WhatIf {
 public:
  using WhatIf::WhatIf;

 private:
  void decided(const Op& op, const allocator::Decision& decision) override {
    (void)agreement_.count(op, decision, false);
  }
  [[nodiscard]] std::uint64_t discards_for_one() const override { return 1; }
  void not_needed(const Op& op) override { agreement_.count_not_taken(op); }
};

}  // namespace e4r::replay
