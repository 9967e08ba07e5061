// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/release.h"

#include <algorithm>
#include <charconv>

#include "allocator/policy.h"

namespace e4r::allocator {
namespace {

// Removes a number from the front of `text`.
bool take_number(std::string_view& text, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_dot(std::string_view& text) {
  if (text.empty() || text.front() != '.') return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<Release> parse_release(std::string_view text) {
  Release out;
  if (!take_number(text, out.major) || !take_dot(text) || !take_number(text, out.minor))
    return std::nullopt;
  if (take_dot(text) && !take_number(text, out.patch)) return std::nullopt;
  return out;
}

bool stands_for(const Policy& policy, std::string_view release) {
  const auto number = parse_release(release);
  return number && std::any_of(policy.releases.begin(), policy.releases.end(),
                               [&](const ReleaseRange& range) {
                                 return range.first <= *number && *number <= range.last;
                               });
}

}  // namespace e4r::allocator
