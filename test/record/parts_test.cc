// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "record/kernel_files.h"
#include "record/merger.h"
#include "record/recorder.h"
#include "record/stale.h"
#include "record/tracer.h"
#include "record/volume.h"

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

TEST(Stale, NamesSayWhoTheyAre) {
  for (const InstanceName& name : {InstanceName{12, "sda1", false}, InstanceName{7, "dm-0", true},
                                   InstanceName{1, "cciss!c0d0p1", true}}) {
    InstanceName back;
    ASSERT_TRUE(parse_instance_name(to_string(name), back)) << to_string(name);
    EXPECT_EQ(back.pid, name.pid);
    EXPECT_EQ(back.device_name, name.device_name);
    EXPECT_EQ(back.stats_switched, name.stats_switched);
  }
  InstanceName back;
  for (const char* text : {"", "e4replay-", "e4replay-x-sda", "e4replay-12", "e4replay-12-",
                           "e4replay-0-sda", "other-12-sda", "e4replay--3-sda"})
    EXPECT_FALSE(parse_instance_name(text, back)) << text;
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

}  // namespace
}  // namespace e4r::record
