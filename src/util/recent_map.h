// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <utility>

namespace e4r {

// A map that remembers the element last asked for, which makes repeated lookups of one key cheap.
// Map: an unordered map. Not thread-safe, not even for concurrent lookups.
template <class Map>
class RecentMap {
 public:
  using Key = typename Map::key_type;
  using Value = typename Map::mapped_type;

  RecentMap() = default;
  RecentMap(const RecentMap&) = delete;
  RecentMap& operator=(const RecentMap&) = delete;

  // Null without such an element. Valid as long as the Map's pointers are.
  [[nodiscard]] Value* find(const Key& key) { return is_recent(key) ? recent_ : look_up(key); }
  [[nodiscard]] const Value* find(const Key& key) const {
    return is_recent(key) ? recent_ : look_up(key);
  }
  // Creates the element if it does not exist.
  Value& operator[](const Key& key) {
    if (!is_recent(key)) remember(key, &map_[key]);
    return *recent_;
  }
  void erase(const Key& key) {
    recent_ = nullptr;
    map_.erase(key);
  }
  [[nodiscard]] const Map& all() const { return map_; }

 private:
  [[nodiscard]] bool is_recent(const Key& key) const {
    return recent_ != nullptr && recent_key_ == key;
  }
  Value* remember(const Key& key, Value* value) const {
    recent_key_ = key;
    return recent_ = value;
  }
  // A lookup leaves the map's contents alone. Whether they may be changed is the caller's business.
  Value* look_up(const Key& key) const {
    const auto found = map_.find(key);
    return found == map_.end() ? nullptr : remember(key, const_cast<Value*>(&found->second));
  }

  Map map_;
  mutable Key recent_key_ = {};
  mutable Value* recent_ = nullptr;
};

}  // namespace e4r
