// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazyinit/kernel_thread.h"
#include "lazyinit/place.h"
#include "util/status.h"

namespace e4r::lazyinit {

// What happens to the inode tables after mke2fs.
enum class TableInit : std::uint8_t {
  keep,       // as mke2fs leaves them
  lazy,       // no table is marked zeroed
  zero,       // all are zeroed and marked
  discard,    // all release their blocks, so they read as zeros, and are marked
  write,      // all are written with zeros, including holes, and marked
  probe,      // tables that read as zeros are marked, the others are zeroed and marked
  prezeroed,  // all are marked if a sample, or everything, reads as zeros
};

// A command line of mke2fs-lazy, split into mke2fs's part and ours.
struct MkfsOptions {
  TableInit init = TableInit::keep;
  unsigned threads = 0;  // itable_threads; 0 if not given
  bool verify_all = false;
  bool trust_discard = false;
  bool write_unreadable = false;
  std::optional<InitItable> init_itable;
  bool journal = false;              // mke2fs was told not to initialise the journal, which reads
                                     // as zeros
  std::optional<bool> journal_word;  // lazy_journal_init as given
  std::optional<bool> discard_word;  // discard, or nodiscard and -K
  std::uint64_t offset = 0;          // -E offset: where the file system starts in the file

  // The arguments for mke2fs, without argv[0] and without our keys. If any of our keys was given,
  // options come before operands, each in an argument of its own. Otherwise the arguments are
  // unchanged.
  std::vector<std::string> arguments;
  // The index of the value of -E, if it was given.
  std::optional<std::size_t> extended;
  // The indexes of the device and of the value of -d (a directory whose files are copied).
  std::optional<std::size_t> device_at, root_at;
  std::size_t options_end = 0;  // number of arguments that belong to options
  bool ours = false;            // at least one key of ours was given
  bool quiet = false;           // -q
  bool dry_run = false;         // -n
  bool version = false;         // -V
  std::string undo_file;        // -z
  std::string device;           // empty if not given, which mke2fs will report

  [[nodiscard]] bool changes_tables() const { return init != TableInit::keep; }
};

// Reads a command line as mke2fs 1.47.0 to 1.47.4 does (same option letters, getopt's rules) and
// removes these keys from every -E (and -R, its old name):
//
//   itable_init=lazy|zero|discard|write|probe|prezeroed
//   itable_threads=N (with zero, discard, write, probe or prezeroed)
//   verify=full|sample (with prezeroed)     trust_discard (with probe or prezeroed)
//   write_unreadable (with zero, write or probe)
//   init_itable[=N] or noinit_itable
//
// If one of our keys is given, the other keys of all -E options are joined into one option: mke2fs
// 1.47.4 reads all of them, 1.47.0 only the last. lazy_itable_init is dropped if it agrees with
// itable_init.
//
// Errors, which cause exit status 2: an unknown key that starts with itable_, a wrong value, keys
// that contradict each other, and options that make our part impossible: -S, -O journal_dev, -E
// android_sparse, -z with -E offset, and -c or -z with write_unreadable. A command line that mke2fs
// will refuse is passed on unchanged.
[[nodiscard]] Result<MkfsOptions> parse_mkfs_options(std::span<const std::string> arguments);

// Adds the options that mke2fs needs for itable_init, given the state of the storage before mke2fs
// starts:
//
//   lazy_itable_init=1     always: mke2fs must not zero what may already be zero
//   lazy_journal_init=N    unless the command line has it. 1 if everything reads as zeros, else
//                          0: a journal must never contain old blocks. If mke2fs-lazy had
//                          to zero it, being killed before that would leave old blocks in it
//   nodiscard              for probe and prezeroed if zeros may not last and trust_discard was
//                          not given, and for write_unreadable: a discard could make blocks
//                          unreadable again. An Error if the command line has discard
[[nodiscard]] Status add_for_storage(MkfsOptions& options, const Storage& storage);

// The keys of -E that parse_mkfs_options() removes. A key with few values is listed once for each
// value: "itable_init=lazy", "itable_threads=".
[[nodiscard]] std::vector<std::string> mkfs_keys();

// The options of mke2fs in getopt(3)'s form.
[[nodiscard]] std::string_view mkfs_letters();

// "lazy", "zero", ...; empty for "keep".
[[nodiscard]] std::string_view name_of(TableInit init);

// An e2fsprogs with the patch series in e2fsprogs/ initialises inode tables itself: mke2fs with -E
// itable_init=, tune2fs with -E itable=. The native tool does the work if it supports everything
// that was requested.

// The values of `key` in a list of extended options: "itable_init=<lazy|zero>" has "lazy" and
// "zero", and "itable=<finish|rearm[:groups]>" has "finish" and "rearm". mke2fs and tune2fs print
// such a list if they do not know an option or its value. Empty if the text does not contain the
// key.
[[nodiscard]] std::vector<std::string> values_of_key(std::string_view text, std::string_view key);

// Whether mke2fs itself can do everything to the tables that the command line requests. It has no
// threads, takes no samples, and cannot use storage that cannot be read. `methods` returns the
// methods of its itable_init. It is called only if nothing else rules mke2fs out.
[[nodiscard]] bool mke2fs_can(const MkfsOptions& options,
                              const std::function<std::vector<std::string>()>& methods);

// The counterpart of add_for_storage() for an mke2fs that initialises the tables itself. Adds:
//
//   itable_init=METHOD     as it was given
//   lazy_journal_init=N    unless the command line has it. 1 for lazy if everything reads as
//                          zeros. Otherwise 0, so that the method applies to the journal, too
//   discard                for probe, if zeros last or trust_discard was given. Otherwise
//                          mke2fs does not discard what it probes. An Error if the command line
//                          has discard where zeros may not last
[[nodiscard]] Status add_for_native(MkfsOptions& options, const Storage& storage);

}  // namespace e4r::lazyinit
