// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/kernel.h"

#include <algorithm>
#include <charconv>

#include "allocator/policy.h"

namespace e4r::allocator {
namespace {

// Parses a number at the front of `text` and removes it.
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

namespace {

constexpr std::string_view kDigits = "0123456789";

// Returns "el9_4" for "5.14.0-427.el9_4.x86_64"; empty if it is not a Red Hat build.
std::string_view build_of(std::string_view release) {
  const auto dot = release.find(".el");
  if (dot == std::string_view::npos) return {};
  std::string_view build = release.substr(dot + 1);
  build = build.substr(0, build.find('.'));
  const std::string_view version = build.substr(2);
  const bool is_version = !version.empty() && version.find_first_of(kDigits) == 0 &&
                          version.find_first_not_of("0123456789_") == std::string_view::npos;
  return is_version ? build : std::string_view();
}

// Whether `part` equals `whole` or names a subset of its builds: "el8_10" is a part of "el8".
bool is_part_of(std::string_view part, std::string_view whole) {
  return part.starts_with(whole) && (part.size() == whole.size() || part[whole.size()] == '_');
}

// Whether the release hides the patch level. A release such as "5.15.0-139-generic" names only the
// kernel on which the distribution is based.
bool hides_patch(const Release& number, std::string_view release) {
  const auto dash = release.find('-');
  return number.patch == 0 && dash != std::string_view::npos &&
         release.find_first_of(kDigits, dash) == dash + 1;
}

}  // namespace

bool is_of_lustre(std::string_view release) {
  return release.find("_lustre") != std::string_view::npos;
}

bool stands_for(const Policy& policy, std::string_view release) {
  if (is_of_lustre(release)) return false;
  if (const std::string_view build = build_of(release); !build.empty())
    return std::any_of(policy.builds.begin(), policy.builds.end(), [&](std::string_view known) {
      return is_part_of(build, known) || is_part_of(known, build);
    });
  const auto number = parse_release(release);
  if (!number) return false;
  const bool any_patch = hides_patch(*number, release);
  const Release last = {number->major, number->minor, any_patch ? kAnyPatch : number->patch};
  return std::any_of(
      policy.releases.begin(), policy.releases.end(),
      [&](const ReleaseRange& range) { return range.first <= last && *number <= range.last; });
}

namespace {

constexpr Kernel with_cr1_5() {
  Kernel kernel = kLinux6_1;
  kernel.name = "Linux 6.1.192 with the series mballoc-cr1.5";
  kernel.groups.lists_bounded = true;
  kernel.read_ahead = kReadAheadCr1_5;
  kernel.stripe = kStripeCr1_5;
  return kernel;
}

constexpr Kernel by_lists_6_5() {
  Kernel kernel = kLinux6_14;
  kernel.name = "Linux 6.5";
  kernel.read_ahead = kReadAhead6_5;
  kernel.stripe = kStripe6_5;
  kernel.preallocs = with_placement(kPreallocs6_5, Placement::over_start);
  return kernel;
}

}  // namespace

const Kernel kLinux6_1Cr1_5 = with_cr1_5();
const Kernel kLinux6_5 = by_lists_6_5();

const Kernel kLinux6_12 = {
    .name = "Linux 6.12.77 to 6.12.117",
    .groups = {.index = state::GroupIndex::sets,
               .lists_bounded = true,
               .indexed = Indexed::every_file,
               .counts_past_last = true,
               .tries_lock = true},
    .read_ahead = kReadAhead6_8,
    .stripe = kStripe6_8,
    .stream = kOneStreamGoal,
    .start = kStartAtGoal,
    .preallocs = kPreallocs6_5,
    .remembers = {.of_groups = false},
    .stats = StatNames::v6_12,
};

namespace {

// Makes the kernel of Linux 6.17 to 7.3, or of a variant that starts searches elsewhere or restores
// goals differently.
constexpr Kernel since_6_17(std::string_view name, const StartRules& start,
                            const GoalRules& remembers = {.of_groups = false}) {
  Kernel kernel = kSince6_17;
  kernel.name = name;
  kernel.start = start;
  kernel.remembers = remembers;
  return kernel;
}

}  // namespace

const Kernel kLinux7_3 = since_6_17("Linux 6.17 to 7.3", kStartAtGoal);
const Kernel kLinux7_3Rotalloc = since_6_17("Linux 6.17 to 7.3 with rotalloc", kStartAtCursor);
const Kernel kLinux7_3RotallocBehindGoal =
    since_6_17("Linux 6.17 to 7.3 with rotalloc after the goal", kStartAtCursorBehindGoal);
const Kernel kLinux7_3LowFirst =
    since_6_17("Linux 6.17 to 7.3 with searches from group 0", kStartAtFirstGroup);
const Kernel kLinux7_3ByCpu =
    since_6_17("Linux 6.17 to 7.3 with a different start of search on each CPU", kStartByCpu);
const Kernel kLinux7_3ByInode =
    since_6_17("Linux 6.17 to 7.3 with a different start of search for each inode", kStartByInode);

namespace {

constexpr Kernel with_forcealign() {
  Kernel kernel = since_6_17("Linux 6.17 to 7.3 with forcealign", kStartAtGoal);
  kernel.align = {.forced = true};
  return kernel;
}

}  // namespace

const Kernel kLinux7_3Forcealign = with_forcealign();

const Kernel kLinux7_3GroupGoal =
    since_6_17("Linux 7.3.4 with kernel/patches/group-goal", kStartAtGoal, {.of_groups = true});

}  // namespace e4r::allocator
