// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lazyinit/mkfs_options.h"
#include "lazyinit/place.h"
#include "util/status.h"

namespace e4r::lazyinit {

// An e2fsprogs with the patch series in e2fsprogs/ initialises inode tables itself: mke2fs with -E
// itable_init=, tune2fs with -E itable=. The native tool does the work if it supports everything
// that was asked for.

// The values of `key` in a list of extended options: "itable_init=<lazy|zero>" has "lazy" and
// "zero", and "itable=<finish|rearm[:groups]>" has "finish" and "rearm". mke2fs and tune2fs print
// such a list if they do not know an option or its value. Empty if the text does not contain the
// key.
[[nodiscard]] std::vector<std::string> values_of_key(std::string_view text, std::string_view key);

// Whether mke2fs itself can do everything to the tables that the command line asks for. It has no
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
