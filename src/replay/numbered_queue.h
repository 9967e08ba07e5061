// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace e4r::replay {

// A queue whose elements are numbered from 0 as they come. It is a ring, so an element is found by
// its number without a search. A reference is valid until the next push().
template <class T>
class NumberedQueue {
 public:
  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] std::size_t size() const { return end_ - first_; }
  // The number of the next element.
  [[nodiscard]] std::uint64_t end() const { return end_; }

  // The element with that number, the first and the last element. They must exist.
  [[nodiscard]] T& operator[](std::uint64_t number) { return ring_[number & (ring_.size() - 1)]; }
  [[nodiscard]] T& front() { return (*this)[first_]; }
  [[nodiscard]] T& back() { return (*this)[end_ - 1]; }

  // `args` must not refer into the queue.
  template <class... Args>
  T& push(Args&&... args) {
    if (size() == ring_.size()) grow();
    T& place = (*this)[end_++];
    std::destroy_at(&place);
    return *std::construct_at(&place, std::forward<Args>(args)...);
  }
  void pop() { ++first_; }

 private:
  void grow() {
    std::vector<T> larger(2 * ring_.size());
    for (std::uint64_t number = first_; number != end_; ++number)
      larger[number & (larger.size() - 1)] = std::move((*this)[number]);
    ring_ = std::move(larger);
  }

  static constexpr std::size_t kAtFirst = 16;  // sizes are powers of two
  std::vector<T> ring_ = std::vector<T>(kAtFirst);
  std::uint64_t first_ = 0, end_ = 0;
};

}  // namespace e4r::replay
