// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lazyinit/target.h"

namespace e4r::test {

// A target on bytes in memory. The bytes must outlive the target. Only one thread may use it at a
// time.
class MemoryTarget : public lazyinit::Target {
 public:
  explicit MemoryTarget(std::vector<std::byte>& bytes, std::string name = "memory")
      : path_(std::move(name)), bytes_(bytes) {}

  [[nodiscard]] std::size_t changes() const { return changes_; }  // writes and zeroings

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] bool is_block_device() const override { return false; }
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> bytes) override;
  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  using Target::zero;
  [[nodiscard]] Result<lazyinit::Zeroed> zero(std::uint64_t offset, std::uint64_t length,
                                              lazyinit::ZeroBy by) override;
  [[nodiscard]] Result<lazyinit::Probed> probe(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] Status sync() override { return {}; }
  [[nodiscard]] Result<std::uint64_t> allocated() override { return bytes_.size(); }

 protected:
  // Returns an Error unless the whole range is inside the target.
  [[nodiscard]] Status check(const char* what, std::uint64_t offset, std::uint64_t length) const;

 private:
  const std::string path_;
  std::vector<std::byte>& bytes_;
  std::size_t changes_ = 0;
};

}  // namespace e4r::test
