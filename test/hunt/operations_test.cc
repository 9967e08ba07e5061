// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/candidate.h"

#include <gtest/gtest.h>

#include <map>

namespace e4r::hunt {
namespace {

using Kind = age::Operation::Kind;

// Executes the operations on a simple model of files, which counts blocks.
class Account {
 public:
  explicit Account(const Room& room) : room_(room) {}

  void apply(const age::Operation& operation) {
    if (operation.kind == Kind::sync) {
      waiting_ = 0;
      return;
    }
    ASSERT_LT(operation.slot, room_.slots);
    if (operation.kind == Kind::remove) {
      ASSERT_TRUE(files_.contains(operation.slot));
      waiting_ += blocks(files_[operation.slot]);
      files_.erase(operation.slot);
      return;
    }
    ASSERT_EQ(files_.contains(operation.slot), operation.kind == Kind::append);
    ASSERT_GT(operation.bytes, 0u);
    files_[operation.slot] += operation.bytes;
    ASSERT_LE(in_use(), room_.blocks / 10 * 9);
  }

  // Returns the blocks in use, including blocks that are allocated at the next sync.
  [[nodiscard]] std::uint64_t in_use() const {
    std::uint64_t out = waiting_;
    for (const auto& [slot, bytes] : files_) out += blocks(bytes);
    return out;
  }

 private:
  [[nodiscard]] std::uint64_t blocks(std::uint64_t bytes) const {
    return (bytes + room_.block_size - 1) / room_.block_size;
  }
  const Room& room_;
  std::map<std::uint32_t, std::uint64_t> files_;
  std::uint64_t waiting_ = 0;
};

TEST(HuntOperations, StayWithinTheRoom) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Mix mix = {.file_kb = std::uint64_t{4} << seed % 9,
                     .spread = seed % 4,
                     .appends = 10 * (seed % 6),
                     .removals = 10 * (seed % 5),
                     .sync_every = seed % 3 * 20,
                     .operations = 700,
                     .seed = seed};
    const Room room = {
        .blocks = 3000, .block_size = 1024u << seed % 3, .slots = 40, .most = 1 << 20};
    const auto operations = draw_operations(mix, room);
    ASSERT_FALSE(operations.empty());
    EXPECT_EQ(operations.back().kind, Kind::sync);
    EXPECT_EQ(operations, draw_operations(mix, room));
    Account account(room);
    for (const age::Operation& operation : operations) account.apply(operation);
  }
}

TEST(HuntOperations, EndWhenEnoughIsWritten) {
  const Mix mix = {.file_kb = 64, .operations = 4096};
  const Room room = {.blocks = 1 << 20, .block_size = 4096, .slots = 4096, .most = 160};
  std::uint64_t writes = 0;
  for (const auto& operation : draw_operations(mix, room)) writes += operation.kind == Kind::write;
  EXPECT_EQ(writes, 10u);  // 16 blocks each
}

TEST(HuntOperations, AFullFileSystemOrNoSlotIsNoEnd) {
  const Mix mix = {.file_kb = 64, .operations = 50};
  const Room tiny = {.blocks = 10, .block_size = 4096, .slots = 5, .most = 1 << 20};
  EXPECT_EQ(draw_operations(mix, tiny), std::vector<age::Operation>{{}});
  const Room no_slot = {.blocks = 1000, .block_size = 4096, .slots = 0, .most = 1 << 20};
  EXPECT_EQ(draw_operations(mix, no_slot), std::vector<age::Operation>{{}});
}

}  // namespace
}  // namespace e4r::hunt
