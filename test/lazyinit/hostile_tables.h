// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lazyinit/disk.h"

namespace e4r::test {

// Damaged file systems under the commands of tune2fs-lazy. The disks are small, one for each way to
// lay out inode tables, with files on them and, in the tables' unused parts, what a disk may hold
// from before. Making them takes a second.
class HostileTables {
 public:
  HostileTables();

  // Draws from the bytes: one of the disks; what is overwritten in its superblock, descriptors,
  // inode bitmaps and tables; whether the checksums are made right again; and commands, in the
  // steps that the tool takes.
  //
  // Returns what went wrong: a command that was refused and wrote all the same, one that wrote
  // where it must not, or that is not done when it says so. Empty when nothing did. Any bytes are
  // good; the same ones do the same.
  [[nodiscard]] std::string judge(std::span<const std::uint8_t> bytes);

  // Commands that ended well.
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  struct Drawn;
  std::string run_and_judge(const Drawn& drawn);
  std::string dry_run(const Drawn& drawn);

  std::vector<Disk> disks_;
  Disk disk_, after_, seen_;  // kept from one call to the next: allocating them takes longest
  std::uint64_t done_ = 0;
};

}  // namespace e4r::test
