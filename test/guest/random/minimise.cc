// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/random/minimise.h"

#include <algorithm>
#include <utility>

namespace e4r::test::random {
namespace {

class Minimiser {
 public:
  Minimiser(Life life, const Shows& shows, std::uint32_t most)
      : life_(std::move(life)), shows_(shows), left_(most) {}

  Life run() {
    drop_steps();
    for (bool changed = true; changed;) {
      changed = simplify_shape();
      changed |= drop_tunables();
      changed |= shorten_steps();
      changed |= drop_steps();
    }
    return std::move(life_);
  }

 private:
  bool keep_if_shown(Life&& shorter) {
    if (left_ == 0) return false;
    --left_;
    if (!shows_(shorter)) return false;
    life_ = std::move(shorter);
    return true;
  }

  // Tries to leave out half of the steps, then quarters, and so on down to single steps.
  bool drop_steps() {
    const std::size_t before = life_.steps.size();
    for (std::size_t size = std::max<std::size_t>(before / 2, 1); left_ > 0;) {
      bool dropped = false;
      for (std::size_t end = life_.steps.size(); end > 0;) {
        const std::size_t from = end > size ? end - size : 0;
        Life shorter = life_;
        shorter.steps.erase(shorter.steps.begin() + static_cast<std::ptrdiff_t>(from),
                            shorter.steps.begin() + static_cast<std::ptrdiff_t>(end));
        dropped |= keep_if_shown(std::move(shorter));
        end = from;
      }
      if (size == 1 && !dropped) break;
      if (size > 1) size /= 2;
    }
    return life_.steps.size() != before;
  }

  bool drop_tunables() {
    bool changed = false;
    for (std::size_t i = life_.shape.tunables.size(); i-- > 0;) {
      Life shorter = life_;
      shorter.shape.tunables.erase(shorter.shape.tunables.begin() + static_cast<std::ptrdiff_t>(i));
      changed |= keep_if_shown(std::move(shorter));
    }
    return changed;
  }

  template <class Value>
  bool try_value(Value Shape::*member, Value value) {
    if (life_.shape.*member == value) return false;
    Life other = life_;
    other.shape.*member = value;
    return keep_if_shown(std::move(other));
  }

  bool simplify_shape() {
    const Shape plain;
    bool changed = false;
    for (std::uint32_t groups : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 17u, 24u})
      if (groups < life_.shape.groups && try_value(&Shape::groups, groups)) {
        changed = true;
        break;
      }
    for (const auto member : {&Shape::cluster_size, &Shape::short_by, &Shape::flex,
                              &Shape::stripe_width, &Shape::reserved})
      changed |= try_value(member, 0u);
    for (const auto member : {&Shape::data_writeback, &Shape::journal, &Shape::checksums})
      changed |= try_value(member, false);
    for (const auto member : {&Shape::loaded, &Shape::extents}) changed |= try_value(member, true);
    changed |= try_value(&Shape::block_size, plain.block_size);
    if (life_.shape.fill.skip_percent != plain.fill.skip_percent) {
      Life empty = life_;
      empty.shape.fill = plain.fill;
      changed |= keep_if_shown(std::move(empty));
    }
    return changed;
  }

  template <class Value>
  bool try_step(std::size_t at, Value Step::*member, Value value) {
    if (life_.steps[at].*member == value) return false;
    Life other = life_;
    other.steps[at].*member = value;
    return keep_if_shown(std::move(other));
  }

  bool shorten_steps() {
    bool changed = false;
    for (std::size_t i = 0; i < life_.steps.size(); ++i) {
      changed |= try_step(i, &Step::cpu, 0u);
      changed |= try_step(i, &Step::goal, std::uint64_t{0});
      if (life_.steps[i].len > 1)
        changed |= try_step(i, &Step::len, 1u) || try_step(i, &Step::len, life_.steps[i].len / 2);
    }
    return changed;
  }

  Life life_;
  const Shows& shows_;
  std::uint32_t left_;
};

}  // namespace

Life minimise(Life life, const Shows& shows, std::uint32_t most) {
  return Minimiser(std::move(life), shows, most).run();
}

}  // namespace e4r::test::random
