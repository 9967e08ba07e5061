// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/pretence.h"

#include <utility>

namespace e4r::state {

bool Pretence::change(std::uint32_t number, std::uint32_t start, std::uint32_t count, bool free) {
  if (count == 0 || !state_.geometry().holds(number, start, count)) return false;
  Group& group = state_.group(number);
  if (group.need_init || group.corrupt) return false;
  const bitmap::ConstWords words = state_.words(group);
  const std::uint32_t end = start + count;
  if (free ? bitmap::find_clear(words, end, start) < end : !bitmap::all_clear(words, start, count))
    return false;
  if (changes_.empty() && has_tree(state_.index())) tree_ = state_.tree_shape();
  changes_.push_back({state_.place_of(number), group.first_free, start, count, free});
  if (free)
    (void)state_.give(group, start, count);
  else
    (void)state_.take(group, start, count);
  return true;
}

Pretence::~Pretence() {
  end();
  if (limited_) (void)state_.limit_to_walks(outer_);
}

void Pretence::limit_to_walks() {
  limited_ = true;
  outer_ = state_.limit_to_walks(this);
}

void Pretence::end() {
  suspended_.clear();
  undo_to(0);
}

void Pretence::suspend() {
  suspended_.insert(suspended_.end(), changes_.begin(), changes_.end());
  undo_to(0);
}

void Pretence::resume() {
  for (const Change& change : std::exchange(suspended_, {}))
    (void)this->change(change.place.group, change.start, change.count, change.freed);
}

void FsState::begin_walk() {
  if (seen_by_walks_ != nullptr) seen_by_walks_->resume();
}

void FsState::end_walk() {
  if (seen_by_walks_ != nullptr) seen_by_walks_->suspend();
}

void Pretence::undo_to(std::size_t count) {
  for (; changes_.size() > count; changes_.pop_back()) {
    const Change& change = changes_.back();
    Group& group = state_.group(change.place.group);
    const std::uint32_t end = change.start + change.count;
    if (!change.freed)
      (void)state_.give(group, change.start, change.count);
    else
      bitmap::for_each_clear_run(
          state_.words(group), change.start, end,
          [&](std::uint32_t at, std::uint32_t next) { (void)state_.take(group, at, next - at); });
    group.first_free = change.first_free;
    state_.put_back(change.place);
  }
  if (changes_.empty() && tree_) state_.set_tree(*std::exchange(tree_, {}));
}

}  // namespace e4r::state
