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
inline constexpr std::uint32_t kAnyPatch = UINT32_MAX;  // as a range's last patch

// Releases from `first` to `last`, both included.
struct ReleaseRange {
  Release first;
  Release last;
};

// The numbers that a release begins with; none when it does not begin with MAJOR.MINOR.
[[nodiscard]] std::optional<Release> parse_release(std::string_view text);

// Whether the policy stands for the release: it lies in one of Policy::releases. False for a text
// that is no release, and for every policy that stands for no real kernel.
[[nodiscard]] bool stands_for(const Policy& policy, std::string_view release);

}  // namespace e4r::allocator
