// SPDX-License-Identifier: GPL-2.0-or-later
// The structs of the installed headers are part of the library's binary interface. If a line fails
// here, existing programs would read the wrong bytes: restore the struct, or raise SOVERSION
// (docs/library.md, "What stays").
#include <e4replay/e4replay.h>
#include <gtest/gtest.h>

#include <cstddef>

namespace {

template <class T>
constexpr std::size_t words() {
  static_assert(sizeof(T) % 8 == 0);
  return sizeof(T) / 8;
}
constexpr std::size_t kText = sizeof(std::string) / 8, kList = sizeof(std::vector<int>) / 8;

TEST(LibraryLayout, OfPlainStructsStays) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "sizes are those of 64-bit machines";
  using namespace e4replay;
  EXPECT_EQ(words<FreeExtents>(), 6 + 2 * FreeExtents::kBuckets);
  EXPECT_EQ(words<FileSystem>(), 7 + 2 * kText - 1);
  EXPECT_EQ(words<Group>(), 3 + kText);
  EXPECT_EQ(sizeof(ImageOptions), 8u);
  EXPECT_EQ(sizeof(RecordedExtent), 16u);
  EXPECT_EQ(words<Event>(), 26u);
  EXPECT_EQ(offsetof(Event, device_major), 152u);
  EXPECT_EQ(offsetof(Event, has_inputs), 207u);
  EXPECT_EQ(words<TraceOptions>(), 2 * kText + (kText + 1) + 1);
  EXPECT_EQ(words<RecordingOptions>(), 3 * kText + words<TraceOptions>() + 1);
  EXPECT_EQ(words<PolicyInfo>(), 6 * kText + 2 * kList);
  EXPECT_EQ(words<Request>(), 9u);
  EXPECT_EQ(sizeof(Extent), 16u);
  EXPECT_EQ(words<Decision>(), 9u);
  EXPECT_EQ(sizeof(GroupState), 16u);
  EXPECT_EQ(words<Counter>(), kText + 1);
  EXPECT_EQ(words<AllocatorOptions>(), kText + kList + 1);
  EXPECT_EQ(words<Column>(), kText + 1);
  EXPECT_EQ(words<Value>(), 2u);
  EXPECT_EQ(words<Row>(), 3 * kText + 1 + words<Value>() + kList);
  EXPECT_EQ(words<Divergence>(), 2 + 3 * kText);
  EXPECT_EQ(words<Agreement>(), 6 + words<Divergence>() + 1);
  EXPECT_EQ(words<ReplayOptions>(), 2 * kList + 1);
  EXPECT_EQ(words<ReplayedDecision>(), 4 + words<Decision>());
  EXPECT_EQ(words<VerifyOptions>(), kText + kList + 1);
  EXPECT_EQ(words<Listener>(), 2 * sizeof(std::function<void()>) / 8);
}

TEST(LibraryLayout, OfClassesIsOnePointer) {
  using namespace e4replay;
  EXPECT_EQ(sizeof(Image), sizeof(std::shared_ptr<int>));
  EXPECT_EQ(sizeof(Recording), sizeof(std::shared_ptr<int>));
  EXPECT_EQ(sizeof(Report), sizeof(std::shared_ptr<int>));
  EXPECT_EQ(sizeof(Sweep), sizeof(std::shared_ptr<int>));
  EXPECT_EQ(sizeof(Allocator), sizeof(void*));
  EXPECT_EQ(sizeof(EventReader), sizeof(void*));
}

TEST(LibraryLayout, OfEnumeratorsStays) {
  using namespace e4replay;
  EXPECT_EQ(static_cast<int>(Criterion::cr0), 0);
  EXPECT_EQ(static_cast<int>(Criterion::unknown), 7);
  EXPECT_EQ(sizeof(Criterion), 1u);
  EXPECT_EQ(static_cast<int>(Better::none), 0);
  EXPECT_EQ(static_cast<int>(Better::lower), 1);
  EXPECT_EQ(static_cast<int>(Better::higher), 2);
  EXPECT_EQ(sizeof(Better), 1u);
}

}  // namespace
