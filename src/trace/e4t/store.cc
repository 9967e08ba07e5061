// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/e4t/store.h"

#include <utility>

namespace e4r::trace::e4t {

class Store::Reader final : public EventSource {
 public:
  explicit Reader(std::shared_ptr<const Store> store)
      : store_(std::move(store)), batch_(kBatchEvents) {}

  Result<std::span<const Event>> next() override {
    for (;;) {
      E4R_TRY(const std::size_t got, block_.read(batch_));
      if (got > 0) return std::span<const Event>(batch_.data(), got);
      if (next_ == store_->blocks_.size()) return std::span<const Event>();
      const Block& b = store_->blocks_[next_++];
      block_ = BlockDecoder({store_->bytes_.data() + b.offset, b.size}, b.events);
    }
  }

 private:
  std::shared_ptr<const Store> store_;
  std::vector<Event> batch_;
  BlockDecoder block_;
  std::size_t next_ = 0;
};

void Store::add(std::span<const Event> events) {
  for (const Event& e : events) {
    if (encoder_.full()) seal();
    encoder_.add(e);
  }
}

void Store::finish() {
  if (!encoder_.empty()) seal();
  bytes_.resize(bytes_.size() + kMaxEventBytes);  // BlockDecoder reads ahead
  bytes_.shrink_to_fit();
}

void Store::seal() {
  add_packed(encoder_.payload(), encoder_.events());
  encoder_.clear();
}

void Store::add_packed(std::span<const std::uint8_t> payload, std::uint32_t events) {
  blocks_.push_back({bytes_.size(), static_cast<std::uint32_t>(payload.size()), events});
  bytes_.insert(bytes_.end(), payload.begin(), payload.end());
}

std::unique_ptr<EventSource> Store::read(std::shared_ptr<const Store> store) {
  return std::make_unique<Reader>(std::move(store));
}

}  // namespace e4r::trace::e4t
