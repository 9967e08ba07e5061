// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <utility>

#include "lazyinit/target.h"

namespace e4r::lazyinit {

// Internal to src/lazyinit: a Target on top of another one. Hands everything on; a derived class
// overrides what it changes.
class TargetOver : public Target {
 public:
  [[nodiscard]] const std::string& path() const override { return below_->path(); }
  [[nodiscard]] std::uint64_t size() const override { return below_->size(); }
  [[nodiscard]] bool is_block_device() const override { return below_->is_block_device(); }
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> bytes) override {
    return below_->read(offset, bytes);
  }
  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return below_->write(offset, bytes);
  }
  using Target::zero;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length,
                                    ZeroBy by) override {
    return below_->zero(offset, length, by);
  }
  [[nodiscard]] Result<Probed> probe(std::uint64_t offset, std::uint64_t length) override {
    return below_->probe(offset, length);
  }
  [[nodiscard]] Status sync() override { return below_->sync(); }
  [[nodiscard]] Result<std::uint64_t> allocated() override { return below_->allocated(); }

 protected:
  explicit TargetOver(std::unique_ptr<Target> below) : below_(std::move(below)) {}
  [[nodiscard]] Target& below() const { return *below_; }

 private:
  std::unique_ptr<Target> below_;
};

}  // namespace e4r::lazyinit
