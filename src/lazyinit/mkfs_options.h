// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazyinit/mount_options.h"
#include "util/status.h"

namespace e4r::lazyinit {

// What becomes of the inode tables after mke2fs.
enum class TableInit : std::uint8_t {
  keep,       // as mke2fs leaves them
  lazy,       // no table is marked zeroed
  zero,       // all are made zero and marked
  probe,      // those that read as zeros are marked, the others made zero and marked
  prezeroed,  // all are marked once a sample, or everything, has read as zeros
};

// A command line of mke2fs-lazy, split into mke2fs's part and ours.
struct MkfsOptions {
  TableInit init = TableInit::keep;
  unsigned threads = 0;  // itable_threads; 0: not given
  bool verify_all = false;
  std::optional<InitItable> init_itable;
  bool journal = false;  // mke2fs was told to leave the journal to us

  // For mke2fs, argv[0] not among them: our keys taken out. If any were there, options stand in
  // front of operands, each in a word of its own; without them the words are what they were.
  std::vector<std::string> arguments;
  bool ours = false;     // at least one key of ours was given
  bool quiet = false;    // -q
  bool dry_run = false;  // -n
  bool version = false;  // -V
  std::string device;    // empty: none given, of which mke2fs will complain

  [[nodiscard]] bool changes_tables() const { return init != TableInit::keep; }
};

// Reads a command line as mke2fs 1.47.0 to 1.47.2 does (same option letters, getopt's rules) and
// takes from every -E (and -R, its old name):
//
//   itable_init=lazy|zero|probe|prezeroed   itable_threads=N (with zero, probe or prezeroed)
//   verify=full|sample (with prezeroed)     init_itable[=N] or noinit_itable
//
// mke2fs heeds its last -E only, so what is left of each stays where it is; one that held nothing
// else goes. With itable_init, lazy_itable_init=1 and (unless the command line has a word on it)
// lazy_journal_init=1 are added, so that mke2fs does not zero first what may be zero already.
//
// An Error is for exit status 2: a key that starts with itable_ and is none, a value that will not
// do, keys that contradict each other, and what makes our part impossible: -S, -z, -O journal_dev
// or mmp, -E offset or android_sparse. A command line that mke2fs itself would refuse is handed
// on as it is.
[[nodiscard]] Result<MkfsOptions> parse_mkfs_options(std::span<const std::string> arguments);

// The keys of -E above, with each value where there are few: "itable_init=lazy", "itable_threads=".
[[nodiscard]] std::vector<std::string> mkfs_keys();

// The options of mke2fs, as getopt(3) wants them.
[[nodiscard]] std::string_view mkfs_letters();

// "lazy", "zero", ...; "keep" has no name and is empty.
[[nodiscard]] std::string_view name_of(TableInit init);

}  // namespace e4r::lazyinit
