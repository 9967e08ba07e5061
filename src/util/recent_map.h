// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <utility>

namespace e4r {

// A map that remembers the element that was looked up last, which makes repeated lookups of one key
// cheap. Map is an unordered map. Not thread-safe, not even for concurrent lookups.
template <class Map>
class RecentMap {
 public:
  using Key = typename Map::key_type;
  using Value = typename Map::mapped_type;

  RecentMap() = default;
  RecentMap(const RecentMap& other) : map_(other.map_) {}
  RecentMap& operator=(const RecentMap& other) {
    if (this == &other) return *this;
    recent_ = nullptr;
    map_ = other.map_;
    return *this;
  }

  // Null if there is no such element. The pointer stays valid as long as a pointer into the Map
  // does.
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
  void clear() {
    recent_ = nullptr;
    map_.clear();
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
  // A lookup does not change the map. Whether the caller may change the element depends on the
  // caller's constness.
  Value* look_up(const Key& key) const {
    const auto found = map_.find(key);
    return found == map_.end() ? nullptr : remember(key, const_cast<Value*>(&found->second));
  }

  Map map_;
  mutable Key recent_key_ = {};
  mutable Value* recent_ = nullptr;
};

}  // namespace e4r
