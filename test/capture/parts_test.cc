// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "capture/capture.h"
#include "capture/container.h"
#include "capture/image_parts.h"
#include "util/bytes.h"

namespace e4r::capture {
namespace {

std::string contents(const MemoryImage& image) {
  std::ifstream file(image.path(), std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

TEST(ImageParts, GiveBackTheImageWithoutItsZeroes) {
  std::string image(5 << 20, '\0');
  for (std::size_t i = 1024; i < 3000; ++i) image[i] = static_cast<char>(i);
  for (std::size_t i = 1 << 20; i < (4 << 20); ++i) image[i] = static_cast<char>(i * 7 + 1);
  MemoryImage copy;
  std::size_t bytes = 0;
  ImagePacker packer(image.size(), [&](std::string_view part) {
    EXPECT_LE(part.size(), kMaxPartBytes);
    bytes += part.size();
    return copy.add(part);
  });
  EXPECT_TRUE(packer.add(0, std::string_view(image).substr(0, 8192)).ok());
  EXPECT_TRUE(packer.add(1 << 20, std::string_view(image).substr(1 << 20)).ok());
  EXPECT_TRUE(packer.finish().ok());
  EXPECT_EQ(copy.size(), image.size());
  EXPECT_TRUE(contents(copy) == image);
  EXPECT_LT(bytes, (3 << 20) + 3000);
}

TEST(ImageParts, AnEmptyImageIsAnImage) {
  MemoryImage copy;
  ImagePacker packer(1 << 20, [&](std::string_view part) { return copy.add(part); });
  EXPECT_TRUE(packer.finish().ok());
  EXPECT_FALSE(copy.empty());
  EXPECT_EQ(contents(copy), std::string(1 << 20, '\0'));
}

// Makes a part with one piece.
std::string part_of(std::uint64_t size, std::uint64_t offset, std::uint32_t length,
                    std::size_t bytes) {
  std::string part;
  append_le(part, size);
  append_le(part, offset);
  append_le(part, length);
  return part.append(bytes, 'x');
}

TEST(ImageParts, RefuseWhatIsNoPieceOfTheImage) {
  const auto refused = [](const std::string& part) {
    MemoryImage image;
    return !image.add(part).ok();
  };
  EXPECT_FALSE(refused(part_of(4096, 0, 1024, 1024)));
  EXPECT_TRUE(refused("short"));
  EXPECT_TRUE(refused(part_of(0, 0, 1024, 1024)));
  EXPECT_TRUE(refused(part_of(UINT64_MAX, 0, 1024, 1024)));
  EXPECT_TRUE(refused(part_of(4096, 4096, 1024, 1024)));
  EXPECT_TRUE(refused(part_of(4096, UINT64_MAX, 1024, 1024)));
  EXPECT_TRUE(refused(part_of(4096, 3073, 1024, 1024)));
  EXPECT_TRUE(refused(part_of(4096, 0, 1025, 1024)));
  EXPECT_TRUE(refused(part_of(4096, 0, 1, 1)));
  EXPECT_TRUE(refused(part_of(4096, 0, 1024, 1030)));
  MemoryImage image;
  EXPECT_TRUE(image.add(part_of(4096, 0, 1024, 1024)).ok());
  EXPECT_FALSE(image.add(part_of(8192, 0, 1024, 1024)).ok());
}

// Even if a part claims a huge size, no more data is kept than the bitmaps of an image could need.
TEST(ImageParts, KeepNoMoreThanAReplayReads) {
  MemoryImage image;
  const std::string part = part_of(64 << 20, 0, 1 << 19, 1 << 19);
  Status status;
  int added = 0;
  while (status.ok() && added < 100) {
    status = image.add(part);
    ++added;
  }
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(added, (16 << 20) / (1 << 19) + 1);
}

TEST(Facts, ComeBackFromJson) {
  StartFacts start;
  start.kernel = "6.1.0";
  start.command = "fio \"a b\".job\n";
  start.possible_cpus = 4;
  start.rotational = true;
  start.frozen_s = 0.25;
  const auto start_back = parse_start_facts(to_json(start));
  ASSERT_TRUE(start_back.ok());
  EXPECT_EQ(to_json(*start_back), to_json(start));
  EXPECT_EQ(start_back->command, start.command);
  EndFacts end;
  end.reason = "interrupted";
  end.exit_status = 143;
  end.events = std::uint64_t{1} << 40;
  end.lost = {{1, 12}, {7, 3}};
  end.changes = {"was unmounted: \"now\""};
  const auto end_back = parse_end_facts(to_json(end));
  ASSERT_TRUE(end_back.ok());
  EXPECT_EQ(to_json(*end_back), to_json(end));
  EXPECT_EQ(end_back->exit_status, 143);
  EXPECT_EQ(end_back->changes, end.changes);
  ASSERT_EQ(end_back->lost.size(), 2u);
  EXPECT_EQ(end_back->lost[1].cpu, 7u);
}

TEST(Facts, OfOtherVersionsAreTaken) {
  const auto facts = parse_start_facts(R"({"kernel":"6.1","from_the_future":[1,2]})");
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->kernel, "6.1");
  EXPECT_EQ(facts->possible_cpus, 0u);
  EXPECT_FALSE(parse_end_facts("{}")->exit_status.has_value());
}

TEST(Facts, OfAnotherShapeAreRefused) {
  for (const char* text :
       {"", "[]", "{", R"({"kernel":1})", R"({"possible_cpus":"4"})", R"({"possible_cpus":-1})",
        R"({"rotational":0})", R"({"kernel":"6.1"} x)"})
    EXPECT_FALSE(parse_start_facts(text).ok()) << text;
  EXPECT_FALSE(parse_end_facts(R"({"lost":[1]})").ok());
  EXPECT_FALSE(parse_end_facts(R"({"exit_status":"x"})").ok());
}

}  // namespace
}  // namespace e4r::capture
