// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace e4r::guest {

// Runs git with these arguments and returns its output. Commands that only query a repository do
// not write to it. The Error is git's message, or says that git is missing.
[[nodiscard]] Result<std::string> git(const std::vector<std::string>& words);

// An overlay: a copy of a kernel tree with the driver in it. The tree itself is never changed.

struct Tree {
  std::string path;       // absolute
  std::string version;    // from its Makefile: "6.1.192", "7.3.4-rc1"
  bool built_in = false;  // there are object files among the sources
  std::string commit;     // the checked-out commit; empty: not a git repository
  bool dirty = false;     // tracked files differ from the commit
};

// New contents of files, by file name in the tree. A file without contents is removed.
using FileChanges = std::map<std::string, std::optional<std::string>>;

// Examines a directory. Fails if it is not a kernel tree, is older than 5.4, or lacks the
// allocator code that the driver needs.
[[nodiscard]] Result<Tree> look_at_tree(const std::string& path);

// Makes `directory` a copy of the tree that consists of symbolic links. fs/ext4/mballoc.c (and in
// newer trees ext4.h) is the driver's file, which includes the tree's own. Updates an existing
// directory, and keeps the modification times of unchanged files so that make rebuilds only what is
// necessary. If there are object files among the tree's sources, links only files that git tracks
// or does not ignore. The files in `changes`, and those changed in this directory earlier, are
// regular files.
[[nodiscard]] Status make_overlay(const Tree& tree, const std::string& directory,
                                  const FileChanges& changes = {});

// Returns the KCFLAGS for make, which let the compiler read one of the driver's headers before each
// file.
[[nodiscard]] std::string compiler_flags();

// Reserves a build directory for the tree. Fails if it belongs to another tree: make compares
// modification times, so it would not recompile an older file of a second tree.
[[nodiscard]] Status claim_directory(const Tree& tree, const std::string& directory);

// Writes the configuration with which the tree is built as a guest, in the form of
// KCONFIG_ALLCONFIG.
[[nodiscard]] Status write_config(const Tree& tree, const std::string& path);
// Checks a build's .config. The Error names a line of the guest's configuration that is missing.
[[nodiscard]] Status check_config(const std::string& dot_config);

// The contents of src/guest/driver/* and protocol.h, which the build embeds.
extern const std::string_view kStateH, kHostC, kChecksumC, kCommitsC, kInodesC, kLocksC, kRequestsC,
    kMemoryC, kPretendC, kFilesC, kDriverC;
extern const std::string_view kMballocC, kExt4H, kSpinlocksH;
extern const std::string_view kProtocolH;
extern const std::string_view kUmlConfig;

}  // namespace e4r::guest
