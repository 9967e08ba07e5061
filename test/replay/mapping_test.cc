// SPDX-License-Identifier: GPL-2.0-or-later
// Tests how files map their blocks. Requests for extent tree nodes and indirect blocks of regular
// files are counted as metadata, since they exist only because of the recorded layout. Blocks of
// files with extents move when fallocate() removes or inserts a range.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/drivers.h"
#include "support/model.h"

namespace e4r::test {
namespace {

// Records the answers of an allocator on an empty file system.
class MappingScript {
 public:
  MappingScript() : fs_(model_shape("blocks_4k_full_size")), rig_("legacy", fs_), writer_(false) {}

  void request(std::uint64_t ino, bool data) {
    allocator::Request request = data ? data_request(ino, 4, 16384) : metadata_request(1, 100000);
    request.ino = ino;
    KernelTraceWriter::Open open = writer_.open({}, request, request.len);
    const allocator::Decision decision = rig_.allocator.allocate(request);
    writer_.mark_decision(open, decision);
    writer_.finish(open, decision);
  }
  void make(std::uint64_t ino, std::uint16_t mode) {
    writer_.add_inode_event({}, trace::EventKind::allocate_inode, ino);
    modes_.emplace_back(writer_.events().size() - 1, mode);
  }
  void remove(std::uint64_t ino) { writer_.add_inode_event({}, trace::EventKind::free_inode, ino); }

  // The first block of the range is file block 0, and it has `count` blocks.
  void insert_range(std::uint64_t ino, std::uint64_t count) {
    shifts_.push_back({writer_.events().size(), count});
    writer_.add_inode_event({}, trace::EventKind::insert_range, ino);
    writer_.add_discard({}, ino);
  }

  [[nodiscard]] replay::Tally replayed(Driver driver) { return run(driver, true)->tally(); }
  // The file block of the first extent of the file.
  [[nodiscard]] std::uint64_t first_file_block(Driver driver, std::uint64_t ino, bool extents) {
    return run(driver, extents)->files().at(ino).extents().front().logical;
  }

 private:
  std::unique_ptr<replay::Engine> run(Driver driver, bool extents) {
    std::vector<trace::Event> events = writer_.events();
    for (const auto& [index, mode] : modes_) events[index].mode = mode;
    for (const auto& [index, count] : shifts_) events[index].count = count << 12;
    source_.geometry.extents = extents;
    replay::InputTable inputs;
    auto [engine, status] = replay_as(driver, source_, *allocator::find_policy("legacy"),
                                      rig_.tunables, events, inputs);
    EXPECT_TRUE(status.ok());
    return std::move(engine);
  }

  ModelFs started_{model_shape("blocks_4k_full_size")};
  state::Source source_ = started_.source();
  ModelFs fs_;
  Rig rig_;
  KernelTraceWriter writer_;
  std::vector<std::pair<std::size_t, std::uint16_t>> modes_;
  std::vector<std::pair<std::size_t, std::uint64_t>> shifts_;
};

TEST(Mapping, MetadataOfRegularFilesIsCountedApart) {
  MappingScript script;
  script.make(12, S_IFREG | 0644);
  script.request(12, false);  // an indirect block precedes its data
  script.request(12, true);
  script.request(12, false);
  script.make(13, S_IFDIR | 0755);
  script.request(13, false);  // a block of a directory
  script.request(14, true);   // a file older than the trace
  script.request(14, false);
  script.remove(12);
  script.make(12, S_IFDIR | 0755);
  script.request(12, false);  // the inode now belongs to a directory
  for (const Driver driver : {Driver::follow, Driver::what_if}) {
    const replay::Tally tally = script.replayed(driver);
    EXPECT_EQ(tally.requests, 7u);
    EXPECT_EQ(tally.metadata, 5u);
    EXPECT_EQ(tally.mapping, 3u);
  }
}

// The kernel refuses to insert a range into a file without extents.
TEST(Mapping, OnlyExtentsMoveWhenARangeIsInserted) {
  MappingScript script;
  script.make(12, S_IFREG | 0644);
  script.request(12, true);
  script.insert_range(12, 8);
  for (const Driver driver : {Driver::follow, Driver::what_if})
    EXPECT_EQ(script.first_file_block(driver, 12, true),
              script.first_file_block(driver, 12, false) + 8);
}

}  // namespace
}  // namespace e4r::test
