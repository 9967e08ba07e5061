// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/allocator.h>
#include <e4replay/policy.h>
#include <e4replay/version.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/ext2_images.h"
#include "support/temp_dir.h"

namespace {

using e4replay::Allocator;
using e4replay::Decision;
using e4replay::Image;
using e4replay::Request;

// Tests allocators on a new file system of 256 MiB, which has a journal and blocks of 4 KiB.
class LibraryAllocator : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<e4r::test::TempDir>();
    e4r::test::make_image(path(), 256u << 20, {"-t", "ext4", "-b", "4096"});
    image_ = std::make_unique<Image>(*Image::open(path()));
  }
  static void TearDownTestSuite() {
    image_.reset();
    dir_.reset();
  }
  static std::string path() { return dir_->file("image"); }
  static const Image& image() { return *image_; }
  static Allocator make(const std::string& policy) {
    return *Allocator::create(image(), {.policy = policy});
  }
  static Request large(std::uint64_t ino, std::uint32_t len) {
    Request request;
    request.ino = ino;
    request.len = len;
    request.file_size = std::uint64_t{len} * 4096;
    return request;
  }
  static std::string error_of(const Request& request) {
    Allocator allocator = make("legacy");
    const auto decision = allocator.allocate(request);
    return decision.ok() ? "" : decision.error().message;
  }

 private:
  static std::unique_ptr<e4r::test::TempDir> dir_;
  static std::unique_ptr<Image> image_;
};
std::unique_ptr<e4r::test::TempDir> LibraryAllocator::dir_;
std::unique_ptr<Image> LibraryAllocator::image_;

TEST_F(LibraryAllocator, OfEveryPolicyHandsOutWhatIsFreeAndTakesItBack) {
  for (const e4replay::PolicyInfo& policy : e4replay::policies()) {
    Allocator allocator = make(policy.name);
    const e4replay::FreeExtents before = allocator.free_extents();
    const auto decision = allocator.allocate(large(12, 500));
    ASSERT_TRUE(decision.ok()) << decision.error().message;
    ASSERT_TRUE(decision->success) << policy.name;
    EXPECT_EQ(decision->len, 500u);
    EXPECT_FALSE(decision->preallocated);
    EXPECT_NE(e4replay::criterion_name(decision->criterion), "unknown");
    // In the image these clusters were free.
    const std::uint32_t group = decision->result.group;
    const std::uint64_t first = decision->block - image().group(group)->first_block;
    for (std::uint64_t at = first; at < first + decision->len; ++at)
      ASSERT_EQ(image().bitmap(group)[at / 64] >> at % 64 & 1, 0u) << policy.name;
    EXPECT_EQ(allocator.free_extents().blocks, before.blocks - 500);
    ASSERT_TRUE(allocator.free(decision->block, decision->len).ok());
    allocator.discard(12);
    allocator.commit();
    EXPECT_EQ(allocator.free_extents(), before) << policy.name;
    EXPECT_TRUE(allocator.check().empty());
  }
}

TEST_F(LibraryAllocator, ServesTheRestOfAGoalFromItsPreallocation) {
  Allocator allocator = make("legacy");
  Request request = large(12, 10);
  request.file_size = 1 << 20;
  const Decision first = *allocator.allocate(request);
  ASSERT_TRUE(first.success);
  EXPECT_GT(first.result.len, first.len);
  request.logical = 10;
  const Decision second = *allocator.allocate(request);
  EXPECT_TRUE(second.preallocated);
  EXPECT_EQ(second.block, first.block + 10);
  EXPECT_LT(allocator.group(first.result.group)->free_clusters, allocator.free_extents().blocks);
  allocator.drop_inode(12);
  EXPECT_TRUE(allocator.check().empty());
}

TEST_F(LibraryAllocator, HoldsWhatIsFreedUntilTheCommit) {
  Allocator allocator = make("legacy");
  const Decision decision = *allocator.allocate(large(12, 100));
  const std::uint32_t group = decision.result.group;
  allocator.discard(12);
  const std::uint32_t free = allocator.group(group)->free_clusters;
  ASSERT_TRUE(allocator.free(decision.block, 100).ok());
  EXPECT_EQ(allocator.group(group)->free_clusters, free);
  allocator.commit();
  EXPECT_EQ(allocator.group(group)->free_clusters, free + 100);
  EXPECT_TRUE(allocator.group(group)->loaded);
}

TEST_F(LibraryAllocator, CountsAsMbStatsDoes) {
  Allocator allocator = make("linux-6.12.77");
  for (std::uint64_t ino = 12; ino < 20; ++ino)
    ASSERT_TRUE(allocator.allocate(large(ino, 50))->success);
  const auto counters = allocator.counters();
  const auto value = [&](const std::string& name) {
    const auto found = std::ranges::find(counters, name, &e4replay::Counter::name);
    return found == counters.end() ? 0 : found->value;
  };
  EXPECT_EQ(value("reqs"), 8u);
  EXPECT_EQ(value("success"), 8u);
}

TEST_F(LibraryAllocator, SaysThatThereIsNoSpace) {
  Allocator allocator = make("legacy");
  std::uint64_t taken = 0;
  std::uint64_t ino = 12;
  for (;; ++ino) {
    const Decision decision = *allocator.allocate(large(ino, 8192));
    if (!decision.success) break;
    taken += decision.len;
  }
  EXPECT_EQ(taken, image().free_extents()->blocks);
  EXPECT_EQ(allocator.free_extents().blocks, 0u);
}

TEST_F(LibraryAllocator, RefusesRequestsThatNoFileSystemMakes) {
  EXPECT_NE(error_of(large(0, 1)).find("inode 0"), std::string::npos);
  EXPECT_NE(error_of(large(12, 0)).find("a request for 0 clusters"), std::string::npos);
  EXPECT_NE(error_of(large(12, 32769)).find("1 to 32768"), std::string::npos);
  Request request = large(12, 100);
  request.logical = 0xffffffff;
  EXPECT_NE(error_of(request).find("2^32 blocks"), std::string::npos);
  request = large(12, 1);
  request.goal = 65536;
  EXPECT_NE(error_of(request).find("0 to 65535"), std::string::npos);
  request.goal = 0;
  request.left_block = ~std::uint64_t{0};
  EXPECT_NE(error_of(request).find("0 to 65535"), std::string::npos);
}

TEST_F(LibraryAllocator, RefusesToFreeWhatCannotBe) {
  Allocator allocator = make("legacy");
  const Decision decision = *allocator.allocate(large(12, 100));
  const auto error = [&](std::uint64_t first, std::uint64_t count) {
    const e4replay::Status status = allocator.free(first, count);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_NE(error(65536, 1).find("0 to 65535"), std::string::npos);
  EXPECT_NE(error(65535, 2).find("0 to 65535"), std::string::npos);
  EXPECT_NE(error(decision.block, 0).find("0 blocks"), std::string::npos);
  EXPECT_NE(error(0, 1).find("metadata"), std::string::npos);
  EXPECT_NE(error(60000, 10).find("not in use"), std::string::npos);
  EXPECT_EQ(error(decision.block, 100), "");
  EXPECT_NE(error(decision.block, 100).find("not in use"), std::string::npos);
  EXPECT_TRUE(allocator.check().empty());
}

TEST_F(LibraryAllocator, IsNotMadeOfAnUnknownPolicyOrSetting) {
  const auto policy = Allocator::create(image(), {.policy = "best"});
  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(policy.error().message.rfind("unknown policy 'best': choose from linear, el8", 0), 0u)
      << policy.error().message;
  const auto name = Allocator::create(image(), {.settings = {"mb_none=1"}});
  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().message.rfind("unknown tunable 'mb_none'", 0), 0u);
  const auto value = Allocator::create(image(), {.settings = {"mb_optimize_scan=2"}});
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().message, "mb_optimize_scan: 2 is more than 1");
  const auto form = Allocator::create(image(), {.settings = {"mb_optimize_scan"}});
  ASSERT_FALSE(form.ok());
  const auto kernel = Allocator::create(image(), {.policy = "kernel:/etc/passwd"});
  ASSERT_FALSE(kernel.ok());
  const auto bare = Allocator::create(*Image::open(path(), {.bitmaps = false}));
  ASSERT_FALSE(bare.ok());
  EXPECT_NE(bare.error().message.find("without its bitmaps"), std::string::npos);
}

TEST_F(LibraryAllocator, DecidesByItsSettings) {
  const auto first = [&](const std::vector<std::string>& settings) {
    Allocator allocator = *Allocator::create(image(), {.settings = settings});
    Request small = large(12, 1);
    return allocator.allocate(small)->result.len;
  };
  EXPECT_EQ(first({}), 512u);  // a group preallocation
  EXPECT_EQ(first({"mb_group_prealloc=64"}), 64u);
}

TEST(LibraryPolicies, AreTheToolsPolicies) {
  const auto all = e4replay::policies();
  ASSERT_GT(all.size(), 8u);
  EXPECT_EQ(all[1].name, "el8");
  for (const e4replay::PolicyInfo& policy : all) {
    const auto found = e4replay::find_policy(policy.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->summary, policy.summary);
    EXPECT_FALSE(policy.rungs.empty());
  }
  EXPECT_EQ(e4replay::find_policy("linux-6.1")->name, "legacy");
  const auto tunables = e4replay::find_policy("cr1.5")->tunables;
  EXPECT_NE(std::ranges::find(tunables, "mb_cr1_5_max_trim_order"), tunables.end());
  EXPECT_FALSE(e4replay::find_policy("none").ok());
}

TEST(LibraryVersion, IsTheHeaders) {
  EXPECT_STREQ(e4replay::version(), E4REPLAY_VERSION);
}

}  // namespace
