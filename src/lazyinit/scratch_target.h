// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "lazyinit/target_over.h"

namespace e4r::lazyinit {

// Runs a command without effect (--dry-run). Reads go through to `below`, which may be open
// read-only. Writes stay in memory, and later reads see them. It needs 4 KiB of memory for each 4
// KiB written, and next to nothing for zeroed ranges.
class ScratchTarget final : public TargetOver {
 public:
  explicit ScratchTarget(std::unique_ptr<Target> below) : TargetOver(std::move(below)) {}

  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> bytes) override;
  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  // Zeroed ranges count as written, since only the real target knows its means.
  using Target::zero;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length, ZeroBy by) override;
  [[nodiscard]] Result<Probed> probe(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] Status sync() override { return {}; }

 private:
  static constexpr std::uint64_t kPage = 4096;
  using Page = std::array<std::byte, kPage>;

  [[nodiscard]] Status read_locked(std::uint64_t offset, std::span<std::byte> bytes);
  [[nodiscard]] Status write_locked(std::uint64_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] bool touched(std::uint64_t offset, std::uint64_t length) const;
  void blank(std::uint64_t offset, std::span<std::byte> bytes) const;
  void add_zeros(std::uint64_t offset, std::uint64_t end);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> zeros_;          // offset -> end, disjoint
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;  // by offset; lie over zeros_
};

}  // namespace e4r::lazyinit
