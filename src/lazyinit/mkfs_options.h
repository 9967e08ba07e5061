// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazyinit/mount_options.h"
#include "lazyinit/storage.h"
#include "util/status.h"

namespace e4r::lazyinit {

// What becomes of the inode tables after mke2fs.
enum class TableInit : std::uint8_t {
  keep,       // as mke2fs leaves them
  lazy,       // no table is marked zeroed
  zero,       // all are made zero and marked
  write,      // all are written with zeros, holes too, and marked
  probe,      // those that read as zeros are marked, the others made zero and marked
  prezeroed,  // all are marked once a sample, or everything, has read as zeros
};

// A command line of mke2fs-lazy, split into mke2fs's part and ours.
struct MkfsOptions {
  TableInit init = TableInit::keep;
  unsigned threads = 0;  // itable_threads; 0: not given
  bool verify_all = false;
  bool trust_discard = false;
  bool write_unreadable = false;
  std::optional<InitItable> init_itable;
  bool journal = false;              // mke2fs was told to leave the journal, which reads as zeros
  std::optional<bool> journal_word;  // lazy_journal_init as given
  std::optional<bool> discard_word;  // discard, or nodiscard and -K
  std::uint64_t offset = 0;          // -E offset: where the file system starts in the file

  // For mke2fs, argv[0] not among them: our keys taken out. If any were there, options stand in
  // front of operands, each in a word of its own; without them the words are what they were.
  std::vector<std::string> arguments;
  // Which of them is the value of -E, if they have one.
  std::optional<std::size_t> extended;
  // The same for the device, and for the value of -d (a directory whose files are copied).
  std::optional<std::size_t> device_at, root_at;
  std::size_t options_end = 0;  // how many of the words belong to options
  bool ours = false;      // at least one key of ours was given
  bool quiet = false;     // -q
  bool dry_run = false;   // -n
  bool version = false;   // -V
  std::string undo_file;  // -z
  std::string device;     // empty: none given, of which mke2fs will complain

  [[nodiscard]] bool changes_tables() const { return init != TableInit::keep; }
};

// Reads a command line as mke2fs 1.47.0 to 1.47.4 does (same option letters, getopt's rules) and
// takes from every -E (and -R, its old name):
//
//   itable_init=lazy|zero|write|probe|prezeroed
//   itable_threads=N (with zero, write, probe or prezeroed)
//   verify=full|sample (with prezeroed)     trust_discard (with probe or prezeroed)
//   write_unreadable (with zero, write or probe)
//   init_itable[=N] or noinit_itable
//
// With a key of ours, what is left of all -E becomes one: mke2fs 1.47.4 heeds all of them, 1.47.0
// only the last. lazy_itable_init beside itable_init goes too, if both want the same.
//
// An Error is for exit status 2: a key that starts with itable_ and is none, a value that will not
// do, keys that contradict each other, and what makes our part impossible: -S, -O journal_dev,
// -E android_sparse, -z with -E offset, and -c and -z with write_unreadable. A command line that mke2fs itself would refuse is handed
// on as it is.
[[nodiscard]] Result<MkfsOptions> parse_mkfs_options(std::span<const std::string> arguments);

// Adds what mke2fs has to be told for itable_init, as the storage is before it starts:
//
//   lazy_itable_init=1     always: it shall not zero first what may be zero already
//   lazy_journal_init=N    unless the command line has it. 1 where everything reads as zeros. Else
//                          0: a journal must not hold old blocks at any instant, and if mke2fs
//                          left it until mke2fs-lazy does it, that could be killed in between
//   nodiscard              for probe and prezeroed where zeros may not last and trust_discard was
//                          not given, and for write_unreadable: a discard could make blocks
//                          unreadable again. An Error if the command line has discard
[[nodiscard]] Status add_for_storage(MkfsOptions& options, const Storage& storage);

// The keys of -E above, with each value where there are few: "itable_init=lazy", "itable_threads=".
[[nodiscard]] std::vector<std::string> mkfs_keys();

// The options of mke2fs, as getopt(3) wants them.
[[nodiscard]] std::string_view mkfs_letters();

// "lazy", "zero", ...; "keep" has no name and is empty.
[[nodiscard]] std::string_view name_of(TableInit init);

}  // namespace e4r::lazyinit
