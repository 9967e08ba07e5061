// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "record/freeze.h"
#include "record/kernel_files.h"
#include "record/merger.h"
#include "record/probes.h"
#include "record/recorder.h"
#include "record/tracer.h"
#include "record/volume.h"
#include "support/temp_dir.h"
#include "util/bytes.h"

namespace e4r::record {
namespace {

trace::Event at(std::uint64_t ns, std::uint16_t cpu) {
  trace::Event e;
  e.time_ns = ns;
  e.cpu = cpu;
  return e;
}

std::vector<std::uint64_t> times(std::span<const trace::Event> events) {
  std::vector<std::uint64_t> out;
  for (const trace::Event& e : events) out.push_back(e.time_ns * 10 + e.cpu);
  return out;
}

TEST(Merger, OrdersByTimeThenByCpu) {
  Merger merger(3);
  for (const std::uint64_t ns : {1, 4, 4, 9}) merger.add(0, at(ns, 0));
  for (const std::uint64_t ns : {2, 4, 7}) merger.add(2, at(ns, 2));
  merger.add(1, at(4, 1));
  EXPECT_EQ(times(merger.take_before(7)), (std::vector<std::uint64_t>{10, 22, 40, 40, 41, 42}));
  merger.add(1, at(8, 1));
  EXPECT_EQ(times(merger.take_before(UINT64_MAX)), (std::vector<std::uint64_t>{72, 81, 90}));
  EXPECT_TRUE(merger.take_before(UINT64_MAX).empty());
}

TEST(Volume, ReadsMountinfo) {
  const auto mount = parse_mountinfo_line(
      "36 35 98:0 / /mnt/with\\040space rw,noatime shared:1 master:2 - ext4 /dev/root "
      "rw,errors=continue,stripe=32");
  ASSERT_TRUE(mount.has_value());
  EXPECT_EQ(mount->dev, trace::make_dev(98, 0));
  EXPECT_EQ(mount->root, "/");
  EXPECT_EQ(mount->point, "/mnt/with space");
  EXPECT_EQ(mount->type, "ext4");
  EXPECT_EQ(mount->source, "/dev/root");
  EXPECT_EQ(mount->options, "rw,noatime,errors=continue,stripe=32");
  EXPECT_FALSE(mount->read_only);
  EXPECT_FALSE(parse_mountinfo_line("36 35 98:0 / /a ro - ext4 x rw")->read_only);
  EXPECT_TRUE(parse_mountinfo_line("36 35 98:0 / /a rw - ext4 x ro")->read_only);
  EXPECT_TRUE(parse_mountinfo_line("36 35 98:0 / /a ro - ext4 x stripe=2,ro")->read_only);
  EXPECT_TRUE(parse_mountinfo_line("36 35 98:0 /a /b rw - ext4 x y").has_value());
  for (const char* line :
       {"", "36 35", "36 35 98 / /mnt rw - ext4 a b", "36 35 98:0 / /m rw - ext4"})
    EXPECT_FALSE(parse_mountinfo_line(line).has_value()) << line;
}

TEST(Volume, SaysWhatIsNoFileSystemOnADevice) {
  EXPECT_NE(find_volume("/nowhere").error().message.find("No such file"), std::string::npos);
  EXPECT_NE(find_volume("/dev/null").error().message.find("character device"), std::string::npos);
  const auto proc = find_volume("/proc");
  ASSERT_FALSE(proc.ok());
  EXPECT_NE(proc.error().message.find("not ext4"), std::string::npos) << proc.error().message;
}

TEST(KernelFiles, CountCpus) {
  EXPECT_EQ(parse_cpu_list("0").count, 1u);
  EXPECT_EQ(parse_cpu_list("0-3").count, 4u);
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11").count, 7u);
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11").last, 11u);
  EXPECT_EQ(parse_cpu_list("").count, 0u);
  EXPECT_EQ(parse_cpu_list("x,3-1,2").count, 1u);
  EXPECT_GT(possible_cpus().count, 0u);
}

TEST(Instance, NamesSayWhoTheyAre) {
  for (const InstanceName& name : {InstanceName{12, "sda1", false}, InstanceName{7, "dm-0", true},
                                   InstanceName{1, "cciss!c0d0p1", true}}) {
    InstanceName back;
    ASSERT_TRUE(parse_instance_name(to_string(name), back)) << to_string(name);
    EXPECT_EQ(back.pid, name.pid);
    EXPECT_EQ(back.device_name, name.device_name);
    EXPECT_EQ(back.counts, name.counts);
  }
  InstanceName back;
  for (const char* text : {"", "e4replay-", "e4replay-x-sda", "e4replay-12", "e4replay-12-",
                           "e4replay-0-sda", "other-12-sda", "e4replay--3-sda"})
    EXPECT_FALSE(parse_instance_name(text, back)) << text;
}

std::string superblock(std::uint32_t made, std::uint64_t blocks) {
  std::string out(1024, '\0');
  put_le(&out[0x38], std::uint16_t{0xef53});
  put_le(&out[0x60], std::uint32_t{0x80});  // 64bit
  put_le(&out[0x04], static_cast<std::uint32_t>(blocks));
  put_le(&out[0x150], static_cast<std::uint32_t>(blocks >> 32));
  put_le(&out[0x108], made);
  return out;
}

TEST(MountTable, SeesARemount) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    GTEST_SKIP() << "not permitted to mount";
  const test::TempDir dir;
  const std::string place = dir.file("place");
  std::filesystem::create_directory(place);
  ASSERT_EQ(::mount("none", place.c_str(), "tmpfs", 0, "size=64k"), 0);
  MountTable table;
  EXPECT_FALSE(table.has_changed());
  ASSERT_EQ(::mount(nullptr, place.c_str(), nullptr, MS_REMOUNT, "size=128k"), 0);
  EXPECT_TRUE(table.has_changed());
  EXPECT_FALSE(table.has_changed());
  EXPECT_EQ(::umount(place.c_str()), 0);
}

VolumeState state_of(std::uint64_t mount, const std::string& options, const std::string& bytes) {
  VolumeState out;
  out.mount = mount;
  out.options = options;
  read_superblock(bytes, out);
  return out;
}

TEST(VolumeWatch, ReadsSuperblocks) {
  const VolumeState state = state_of(1, "", superblock(77, 0x1'2345'6789));
  EXPECT_TRUE(state.is_ext4);
  EXPECT_EQ(state.made, 77u);
  EXPECT_EQ(state.blocks, 0x1'2345'6789u);
  EXPECT_FALSE(state_of(1, "", std::string(1024, '\0')).is_ext4);
  EXPECT_FALSE(state_of(1, "", superblock(1, 1).substr(0, 1023)).is_ext4);
}

// Checks a volume that changes from one state to the next, and returns what each check finds.
// Before the first state, the volume does not exist.
std::string found(const std::vector<VolumeState>& states) {
  Volume nowhere;
  nowhere.device_name = nowhere.device_path = "no/such/device";
  VolumeWatch watch(nowhere);
  std::string out;
  for (const VolumeState& state : states)
    for (const std::string& line : watch.compare(state)) out += line + "\n";
  return out;
}

TEST(VolumeWatch, FromBeforeTheMountItsEndBelongsToTheRecording) {
  const std::string sb = superblock(7, 100);
  EXPECT_EQ(found({state_of(0, "", sb), state_of(5, "rw\n", sb), state_of(0, "", sb)}), "");
  const std::string again =
      found({state_of(5, "rw\n", sb), state_of(0, "", sb), state_of(6, "rw\n", sb)});
  EXPECT_NE(again.find("was unmounted and mounted again"), std::string::npos) << again;
}

TEST(VolumeWatch, FindsWhatChanges) {
  const std::string sb = superblock(7, 100);
  const VolumeState before = state_of(5, "rw\ndelalloc\n", sb);
  EXPECT_EQ(found({before, before}), "");
  EXPECT_EQ(found({before, state_of(5, "rw\nnodelalloc\n", sb)}),
            "was remounted: -delalloc +nodelalloc\n");
  EXPECT_EQ(found({before, state_of(5, before.options, superblock(7, 200))}),
            "was resized from 100 to 200 blocks: a replay has 100\n");
  EXPECT_NE(found({before, state_of(5, before.options, superblock(8, 100))}).find("was made again"),
            std::string::npos);
  EXPECT_NE(found({before, state_of(5, before.options, std::string(1024, 'x'))})
                .find("no longer an ext4"),
            std::string::npos);
}

TEST(OutputWatch, FindsWhatBecomesOfAFile) {
  const test::TempDir dir;
  const std::string path = dir.file("out");
  const auto begin = [&] {
    std::filesystem::remove(path);
    std::ofstream(path) << std::string(100'000, 'x');
    OutputWatch watch(path);
    EXPECT_TRUE(watch.check().ok());
    return watch;
  };
  const auto complaint = [](OutputWatch& watch) {
    const Status status = watch.check();
    return status.ok() ? std::string() : status.error().message;
  };
  OutputWatch watch = begin();
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_EQ(complaint(watch), "");
  std::filesystem::resize_file(path, 10);
  EXPECT_NE(complaint(watch).find("was truncated"), std::string::npos);
  watch = begin();
  std::filesystem::rename(path, dir.file("other"));
  EXPECT_NE(complaint(watch).find("it is " + dir.file("other")), std::string::npos);
  watch = begin();
  std::filesystem::remove(path);
  EXPECT_NE(complaint(watch).find("was removed"), std::string::npos);
  // The file is truncated, and then written to after a gap.
  watch = begin();
  std::filesystem::resize_file(path, 0);
  std::filesystem::resize_file(path, 1 << 20);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::ate) << "on";
  EXPECT_NE(complaint(watch).find("was truncated"), std::string::npos);
  OutputWatch pipe("/dev/null");
  EXPECT_EQ(complaint(pipe), "");
}

TEST(Storage, IsWhereItsFileSystemIs) {
  const test::TempDir dir;
  struct stat st = {};
  ASSERT_EQ(::stat(dir.file("").c_str(), &st), 0);
  const std::uint32_t dev = trace::make_dev(major(st.st_dev), minor(st.st_dev));
  EXPECT_EQ(find_storage(dir.file(""), dev), Stored::there);
  EXPECT_NE(find_storage(dir.file(""), trace::make_dev(4095, 1)), Stored::there);
  EXPECT_EQ(find_storage(dir.file("nowhere"), dev), Stored::unknown);
}

TEST(Freeze, SaysWhatCannotBeFrozen) {
  const auto proc = Freeze::begin("/proc", std::chrono::seconds(1));
  ASSERT_FALSE(proc.ok());
  EXPECT_NE(proc.error().message.find("/proc: cannot be frozen"), std::string::npos)
      << proc.error().message;
  EXPECT_FALSE(Freeze::begin("/nowhere", std::chrono::seconds(1)).ok());
  EXPECT_FALSE(thaw("/nowhere").ok());
}

TEST(Recorder, KnowsItsWords) {
  for (const char* name : {"auto", "freeze", "reflink", "unmounted", "none"}) {
    const auto snapshot = parse_snapshot(name);
    ASSERT_TRUE(snapshot.ok());
    EXPECT_STREQ(snapshot_name(*snapshot), name);
  }
  EXPECT_FALSE(parse_snapshot("lvm2").ok());
  for (const char* name : {"mono", "mono_raw", "boot"}) {
    const auto clock = parse_clock(name);
    ASSERT_TRUE(clock.ok());
    EXPECT_STREQ(clock_name(*clock), name);
    EXPECT_GT(read_clock(*clock), 0u);
  }
  EXPECT_FALSE(parse_clock("local").ok());
}

TEST(Probes, SawNothingIfSearchesTookClustersUnseen) {
  trace::TraceSummary events;
  const auto add = [&](trace::EventKind kind) {
    trace::Event event;
    event.kind = kind;
    events.deliver(event);
  };
  add(trace::EventKind::mballoc_prealloc);
  EXPECT_FALSE(saw_nothing(events));
  add(trace::EventKind::mballoc_alloc);
  EXPECT_TRUE(saw_nothing(events));
  add(trace::EventKind::mark_used);
  EXPECT_FALSE(saw_nothing(events));
}

}  // namespace
}  // namespace e4r::record
