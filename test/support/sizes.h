// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace e4r::test {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;

}  // namespace e4r::test
