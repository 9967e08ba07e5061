// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/interrupt.h"

#include <utility>

namespace e4r {
namespace {

thread_local Stoppable* innermost = nullptr;

}  // namespace

Stoppable::Stoppable(Asked asked)
    : asked_(std::move(asked)), around_(std::exchange(innermost, this)) {}

Stoppable::~Stoppable() {
  innermost = around_;
}

bool stop_asked() {
  for (const Stoppable* one = innermost; one != nullptr; one = one->around_)
    if (one->asked_()) return true;
  return false;
}

}  // namespace e4r
