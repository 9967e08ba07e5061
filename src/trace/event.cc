// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/event.h"

namespace e4r::trace {
namespace {

constexpr std::array<std::string_view, kEventKinds> kEventNames = {
#define E4R_EVENT(kind, tag, name, body, model, want) name,
#include "trace/events.def"
};

constexpr std::array<std::string_view, 4> kGenerationNames = {"unknown", "6.1", "6.1 with CR1.5",
                                                              "6.5 or later"};

}  // namespace

std::string_view event_name(EventKind kind) {
  return kEventNames[static_cast<std::size_t>(kind)];
}

std::string_view event_system(EventKind kind) {
  const std::string_view name = event_name(kind);
  return name.substr(0, name.find('_'));
}

std::string_view generation_name(Generation generation) {
  return kGenerationNames[static_cast<std::size_t>(generation)];
}

}  // namespace e4r::trace
