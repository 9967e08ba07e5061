// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/mballoc.h"

#include <array>

namespace e4r::mb {
namespace {

constexpr std::array<std::string_view, 8> kCriterionNames = {"CR0", "CR1", "CR1.5",    "best-avail",
                                                             "CR2", "CR3", "past-CR3", "unknown"};

}  // namespace

std::string_view criterion_name(Criterion criterion) {
  return kCriterionNames[static_cast<std::size_t>(criterion)];
}

}  // namespace e4r::mb
