// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trace/e4t/block.h"
#include "trace/source.h"

namespace e4r::trace::e4t {

// Packed events in memory: the blocks of a file without its frames.
class Store {
 public:
  void add(std::span<const Event> events);
  // Adds a block of `events` events that a BlockEncoder has made. Must not be mixed with add().
  void add_packed(std::span<const std::uint8_t> payload, std::uint32_t events);
  // Makes everything readable. Call it after the last add().
  void finish();
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.size(); }

  // Returns a reader from the beginning that shares ownership of `store`. Several threads may each
  // have a reader.
  [[nodiscard]] static std::unique_ptr<EventSource> read(std::shared_ptr<const Store> store);

 private:
  class Reader;
  struct Block {
    std::size_t offset;
    std::uint32_t size;
    std::uint32_t events;
  };
  void seal();

  BlockEncoder encoder_;
  std::vector<std::uint8_t> bytes_;
  std::vector<Block> blocks_;
};

}  // namespace e4r::trace::e4t
