// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lazyinit/disk.h"

namespace e4r::test {

// Runs the commands of tune2fs-lazy on damaged file systems. For each layout of inode tables, it
// makes a small disk with files, and with old data in the unused parts of the tables. Making the
// disks takes a second.
class HostileTables {
 public:
  HostileTables();

  // Draws everything from the bytes: one of the disks, damage to its superblock, descriptors, inode
  // bitmaps and tables, whether the checksums are corrected, and the commands. Runs each command by
  // the same steps as the tool.
  //
  // Returns the fault: a refused command wrote something, a command wrote to a wrong place, or a
  // command reported success without doing its work. Returns "" if there was no fault. Any bytes
  // are valid. Equal bytes give equal runs.
  [[nodiscard]] std::string judge(std::span<const std::uint8_t> bytes);

  // Number of successful commands.
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  struct Drawn;
  std::string run_and_judge(const Drawn& drawn);
  std::string dry_run(const Drawn& drawn);

  std::vector<Disk> disks_;
  Disk disk_, after_,
      seen_;  // reused between calls, because allocating them takes most of the time
  std::uint64_t done_ = 0;
};

}  // namespace e4r::test
