// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "lazyinit/memory_target.h"
#include "util/rng.h"

namespace e4r::test {

// A target in memory that records every write, zeroing and sync in order. It can compute possible
// contents of a disk after a power failure at any point: they include everything before the last
// sync, and any part of the later writes, down to single sectors.
class RecordingTarget : public MemoryTarget {
 public:
  explicit RecordingTarget(std::vector<std::byte> bytes)
      : MemoryTarget(now_, "recording"), start_(bytes), now_(std::move(bytes)) {}

  // Makes syncs do nothing from now on, to simulate a program that does not sync.
  void forget_syncs() { honest_ = false; }
  // Makes reads of this range fail.
  void damage(std::uint64_t offset, std::uint64_t length) { damaged_ = {offset, offset + length}; }
  // Makes the operation with this number, counted from 0, and all later operations fail.
  void fail_from(std::size_t operation) { fail_from_ = operation; }

  [[nodiscard]] std::size_t operations() const { return log_.size(); }
  [[nodiscard]] std::size_t syncs() const;
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return now_; }
  // Returns the contents of the disk if power fails after the first `operations` operations. `rng`
  // chooses which unsynced data is kept: none, all, or each 512-byte sector by chance.
  [[nodiscard]] std::vector<std::byte> after_crash(std::size_t operations, Rng& rng) const;

  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> bytes) override;
  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  using Target::zero;
  [[nodiscard]] Result<lazyinit::Zeroed> zero(std::uint64_t offset, std::uint64_t length,
                                              lazyinit::ZeroBy by) override;
  [[nodiscard]] Result<lazyinit::Probed> probe(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] Status sync() override;

 private:
  struct Operation {
    bool sync = false;
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };

  [[nodiscard]] Status log(Operation operation);
  [[nodiscard]] bool is_damaged(std::uint64_t offset, std::uint64_t length) const;

  const std::vector<std::byte> start_;
  std::vector<std::byte> now_;
  std::vector<Operation> log_;
  bool honest_ = true;
  std::size_t fail_from_ = ~std::size_t{0};
  std::pair<std::uint64_t, std::uint64_t> damaged_{0, 0};
  std::mutex mutex_;
};

}  // namespace e4r::test
