// SPDX-License-Identifier: GPL-2.0-or-later
// Tests that requests for extent tree nodes and indirect blocks of regular files are counted as
// metadata. Such requests exist only because of the recorded layout.
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

  [[nodiscard]] replay::Tally replayed(Driver driver) {
    std::vector<trace::Event> events = writer_.events();
    for (const auto& [index, mode] : modes_) events[index].mode = mode;
    ModelFs fs(model_shape("blocks_4k_full_size"));
    replay::InputTable inputs;
    const auto [engine, status] = replay_as(driver, fs.source(), *allocator::find_policy("legacy"),
                                            rig_.tunables, events, inputs);
    EXPECT_TRUE(status.ok());
    return engine->tally();
  }

 private:
  ModelFs fs_;
  Rig rig_;
  KernelTraceWriter writer_;
  std::vector<std::pair<std::size_t, std::uint16_t>> modes_;
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

}  // namespace
}  // namespace e4r::test
