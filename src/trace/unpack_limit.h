// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string_view>

#include "util/status.h"

namespace e4r::trace {

// Limits the ratio of unpacked to stored bytes. Real recordings unpack to at most 81 times their
// size. A file made to fill memory can reach many thousand times.
class UnpackLimit {
 public:
  // `any`: no limit.
  explicit UnpackLimit(bool any = false) : any_(any) {}

  // Counts a piece. The Error names the option that lifts the limit.
  [[nodiscard]] Status add(std::uint64_t stored, std::uint64_t plain, std::string_view name) {
    stored_ += stored;
    plain_ += plain;
    if (any_ || plain_ <= kFree || plain_ / kRatio <= stored_) return {};
    return error(
        "{}: its first {} bytes unpack to {} or more, {} times their size, which no recording "
        "does: --any-ratio (in Python: any_ratio=True) reads it all the same",
        name, stored_, plain_, plain_ / (stored_ == 0 ? 1 : stored_));
  }

 private:
  static constexpr std::uint64_t kFree = std::uint64_t{64} << 20;  // bytes that are always accepted
  static constexpr std::uint64_t kRatio = 500;

  bool any_;
  std::uint64_t stored_ = 0, plain_ = 0;
};

}  // namespace e4r::trace
