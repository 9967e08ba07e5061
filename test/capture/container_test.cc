// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/container.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "capture/support.h"
#include "util/rng.h"

namespace e4r::capture {
namespace {

using Parts = std::vector<std::pair<PartKind, std::string>>;

Parts some_parts() {
  Rng rng(7);
  std::string noise(3000, '\0');
  for (char& c : noise) c = static_cast<char>(rng.next());
  return {{PartKind::text, "a"},
          {PartKind::image, std::string(kMaxPartBytes, 'x')},
          {PartKind::events, noise},
          {PartKind::text, ""}};
}

std::string write(const Parts& parts) {
  std::string out;
  auto writer = ContainerWriter::create(std::make_unique<test::MemoryFile>(out));
  for (const auto& [kind, bytes] : parts) EXPECT_TRUE(writer->add(kind, bytes).ok());
  EXPECT_TRUE(writer->finish().ok());
  EXPECT_EQ(writer->bytes_written(), out.size());
  return out;
}

struct Outcome {
  Parts parts;
  bool cut_short = false;
  std::string error;
};
Outcome read(std::string_view bytes, std::size_t chunk = SIZE_MAX) {
  ContainerReader reader(trace::memory_bytes(bytes, chunk), "x.e4c");
  Outcome out;
  for (;;) {
    auto part = reader.next([](PartKind) { return true; });
    if (!part.ok()) {
      out.error = part.error().message;
      return out;
    }
    if (part->kind == PartKind::end) break;
    out.parts.emplace_back(part->kind, part->bytes);
  }
  out.cut_short = reader.cut_short();
  return out;
}

TEST(Container, GivesBackWhatWasWritten) {
  const Parts parts = some_parts();
  const std::string file = write(parts);
  for (const std::size_t chunk : {SIZE_MAX, std::size_t{1000}, std::size_t{7}}) {
    const Outcome out = read(file, chunk);
    EXPECT_EQ(out.error, "");
    EXPECT_EQ(out.parts, parts);
    EXPECT_FALSE(out.cut_short);
  }
}

TEST(Container, SkipsWhatIsNotWantedAndChecksItAllTheSame) {
  std::string file = write(some_parts());
  ContainerReader reader(trace::memory_bytes(file), "x.e4c");
  const auto part = reader.next([](PartKind) { return false; });
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->kind, PartKind::text);
  EXPECT_TRUE(part->bytes.empty());
  file[30] = static_cast<char>(file[30] ^ 1);
  ContainerReader damaged(trace::memory_bytes(file), "x.e4c");
  Status status;
  for (int i = 0; i < 5 && status.ok(); ++i) {
    const auto next = damaged.next([](PartKind) { return false; });
    if (!next.ok()) status = next.error();
  }
  EXPECT_FALSE(status.ok());
}

// If a container is truncated at any place, reading it gives the complete parts before the cut, and
// reports that it is truncated.
TEST(Container, CutAnywhereGivesWhatCameBefore) {
  Parts parts = some_parts();
  parts[1].second.resize(5000);
  const std::string file = write(parts);
  for (std::size_t size = 12; size < file.size(); ++size) {
    const Outcome out = read(std::string_view(file).substr(0, size));
    ASSERT_EQ(out.error, "") << size;
    ASSERT_TRUE(out.cut_short) << size;
    ASSERT_LE(out.parts.size(), parts.size());
    for (std::size_t i = 0; i < out.parts.size(); ++i) ASSERT_EQ(out.parts[i], parts[i]);
  }
  for (std::size_t size = 0; size < 12; ++size)
    EXPECT_NE(read(std::string_view(file).substr(0, size)).error, "") << size;
}

TEST(Container, AnyFlippedBitIsFound) {
  Parts parts = some_parts();
  parts[1].second.resize(100);
  const std::string file = write(parts);
  for (std::size_t at = 0; at < file.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      if (at == 10 || at == 11) continue;  // reserved for later versions
      std::string bad = file;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      const Outcome out = read(bad);
      ASSERT_TRUE(!out.error.empty() || out.cut_short) << "byte " << at << " bit " << bit;
    }
}

TEST(Container, PartsThatAreMissingAreFound) {
  const Parts parts = {{PartKind::text, "one"}, {PartKind::text, "two"}};
  std::string file = write(parts);
  const std::size_t frame = 16 + 3;
  file.erase(12, frame);
  EXPECT_NE(read(file).error.find("some are missing"), std::string::npos);
  EXPECT_NE(read(write(parts) + "x").error.find("after the end"), std::string::npos);
}

TEST(Container, SaysWhenAFileIsSomethingElse) {
  EXPECT_EQ(read("").error, "x.e4c: is not a capture (.e4c)");
  std::string file = write({});
  file[8] = kCheckpointVersion;
  EXPECT_EQ(read(file).error, "");
  file[8] = 3;
  EXPECT_EQ(read(file).error, "x.e4c: is .e4c version 3, but this program reads versions 1 to 2");
}

}  // namespace
}  // namespace e4r::capture
