// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/wanted.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace e4r::trace {
namespace {

enum class Want : std::uint8_t {
  unused,
  allocator,
  allocator_essential,
  shrinker,
  shrinker_essential,
};

struct Use {
  EventKind kind;
  Want want;
};
constexpr Use kUses[] = {
#define E4R_EVENT(kind, tag, name, body, model, want) {EventKind::kind, Want::want},
#include "trace/events.def"
};

template <Want Helpful, Want Essential>
constexpr auto kWanted = [] {
  constexpr auto is_one = [](const Use& use) {
    return use.want == Helpful || use.want == Essential;
  };
  std::array<WantedEvent, std::count_if(std::begin(kUses), std::end(kUses), is_one)> out = {};
  std::size_t at = 0;
  for (const Use& use : kUses)
    if (is_one(use)) out[at++] = {use.kind, use.want == Essential};
  return out;
}();

}  // namespace

std::span<const WantedEvent> wanted_events(Purpose purpose) {
  if (purpose == Purpose::shrinker) return kWanted<Want::shrinker, Want::shrinker_essential>;
  return kWanted<Want::allocator, Want::allocator_essential>;
}

KindSet KindSet::wanted(Purpose purpose) {
  KindSet out = none();
  for (const WantedEvent& event : wanted_events(purpose))
    out.bits_ |= std::uint64_t{1} << static_cast<unsigned>(event.kind);
  return out;
}

}  // namespace e4r::trace
