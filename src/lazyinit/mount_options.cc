// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/mount_options.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "util/units.h"

namespace e4r::lazyinit {
namespace {

constexpr std::string_view kOn = "init_itable";
constexpr std::string_view kOff = "noinit_itable";
constexpr std::string_view kDefault = "default";

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

// Whether the word names this option, even with a wrong value.
bool concerns(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return name == kOn || name == kOff;
}

}  // namespace

Result<std::uint32_t> parse_multiplier(std::string_view name, std::string_view text) {
  const auto number = parse_u64(text);
  if (!number.ok() || *number > InitItable::kMaxMultiplier)
    return error("{}={}: give a whole number from 0 (no pauses) to {}", name, text,
                 InitItable::kMaxMultiplier);
  return static_cast<std::uint32_t>(*number);
}

std::string InitItable::text() const {
  switch (kind) {
    case Kind::unset:
      return std::string(kDefault);
    case Kind::off:
      return std::string(kOff);
    case Kind::wait:
      break;
  }
  return fmt::format("{}={}", kOn, multiplier);
}

Result<InitItable> parse_init_itable(std::string_view text) {
  if (text == kDefault) return InitItable{};
  if (text == kOff) return InitItable{.kind = InitItable::Kind::off};
  if (text == kOn) return InitItable{.kind = InitItable::Kind::wait};
  if (text.starts_with(kOn) && text.substr(kOn.size()).starts_with('=')) {
    E4R_TRY(const std::uint32_t multiplier, parse_multiplier(kOn, text.substr(kOn.size() + 1)));
    return InitItable{InitItable::Kind::wait, multiplier};
  }
  return error("'{}' is unknown: give init_itable=N, noinit_itable or default", text);
}

Result<InitItable> init_itable_of(std::string_view mount_options) {
  InitItable last;
  for (const std::string_view word : split(mount_options)) {
    if (!concerns(word)) continue;
    E4R_TRY(last, parse_init_itable(word));
  }
  return last;
}

Result<std::string> with_init_itable(std::string_view mount_options, const InitItable& wanted) {
  std::string text;
  const auto add = [&text](std::string_view word) {
    if (!text.empty()) text += ',';
    text += word;
  };
  for (const std::string_view word : split(mount_options))
    if (!concerns(word)) add(word);
  if (wanted.kind != InitItable::Kind::unset) add(wanted.text());
  if (text.size() > kMountOptionsMax)
    return error(
        "the superblock has room for {} bytes of mount options, and '{}' has {}: take out others "
        "with tune2fs -E mount_opts=...",
        kMountOptionsMax, text, text.size());
  return text;
}

}  // namespace e4r::lazyinit
