// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace e4r::replay {

// The allocations under way: at most one number for each thread. A single thread, the usual case,
// costs no lookup.
class UnderWay {
 public:
  // Null: no allocation of that thread is under way.
  [[nodiscard]] const std::uint64_t* find(std::uint32_t pid) const {
    if (one_ && one_->first == pid) return &one_->second;
    if (others_.empty()) return nullptr;
    const auto found = others_.find(pid);
    return found == others_.end() ? nullptr : &found->second;
  }
  void set(std::uint32_t pid, std::uint64_t number) {
    if (one_ ? one_->first == pid : others_.empty())
      one_ = {pid, number};
    else
      others_[pid] = number;
  }
  void erase(std::uint32_t pid) {
    if (one_ && one_->first == pid)
      one_.reset();
    else
      others_.erase(pid);
  }
  void clear() {
    one_.reset();
    others_.clear();
  }
  [[nodiscard]] std::size_t size() const { return (one_ ? 1 : 0) + others_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // Calls `each` with every number, in unspecified order.
  template <class Each>
  void for_each(const Each& each) const {
    if (one_) each(one_->second);
    for (const auto& [pid, number] : others_) each(number);
  }

 private:
  std::optional<std::pair<std::uint32_t, std::uint64_t>> one_;
  boost::unordered_flat_map<std::uint32_t, std::uint64_t> others_;  // all but the one of one_
};

}  // namespace e4r::replay
