// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace e4r::allocator {

struct Policy;

// A kernel release without its suffix: "6.18.44-foo" is 6.18.44, "6.14" is 6.14.0.
struct Release {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t patch = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes what the compiler makes of this for a 0
  friend constexpr auto operator<=>(const Release&, const Release&) = default;
};
inline constexpr std::uint32_t kAnyPatch = UINT32_MAX;  // the last patch of a range without an end

// Releases from `first` to `last`, both included.
struct ReleaseRange {
  Release first;
  Release last;
};

// The numbers at the start of a release; nullopt unless it begins with MAJOR.MINOR.
[[nodiscard]] std::optional<Release> parse_release(std::string_view text);

// Whether one of Policy::releases holds the release. False if the text is not a release.
[[nodiscard]] bool stands_for(const Policy& policy, std::string_view release);

}  // namespace e4r::allocator
