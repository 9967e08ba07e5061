// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/unfinished.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstring>
#include <utility>

namespace e4r {
namespace {

enum class State : int { free, changing, used };

struct Slot {
  std::atomic<State> state{State::free};
  std::array<char, PATH_MAX> path = {};
};
static_assert(std::atomic<State>::is_always_lock_free, "read in a signal handler");

std::array<Slot, 64> slots;

}  // namespace

Unfinished::Unfinished(const std::string& path) {
  if (path.size() >= PATH_MAX) return;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    State expected = State::free;
    if (!slots[i].state.compare_exchange_strong(expected, State::changing)) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].state = State::used;
    slot_ = i + 1;
    return;
  }
}

Unfinished::Unfinished(Unfinished&& other) noexcept : slot_(std::exchange(other.slot_, 0)) {}

Unfinished& Unfinished::operator=(Unfinished&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

void Unfinished::forget() {
  if (slot_ != 0) slots[slot_ - 1].state = State::free;
  slot_ = 0;
}

void remove_unfinished() noexcept {
  for (const Slot& slot : slots)
    if (slot.state == State::used) ::unlink(slot.path.data());
}

}  // namespace e4r
