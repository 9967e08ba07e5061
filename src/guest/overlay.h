// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <optional>
#include <string>

#include "util/status.h"

// A kernel tree with the driver in it, beside the tree, which is not written to.
namespace e4r::guest {

struct Tree {
  std::string path;       // absolute
  std::string version;    // of its Makefile: "6.1.192", "7.3.4-rc1"
  bool built_in = false;  // objects lie among the sources
  std::string commit;     // that git has checked out there; empty: git knows of no tree there
  bool dirty = false;     // files that git follows differ from the commit
};

// Files that are to be otherwise than they lie in the tree, by their names in it; without content:
// there is to be none.
using Changes = std::map<std::string, std::optional<std::string>>;

// Looks at a directory. The Error says what it lacks: it is no kernel tree, or one of before 6.1,
// or of something else than ext4's allocator as it has been since.
[[nodiscard]] Result<Tree> look_at_tree(const std::string& path);

// Makes `directory` a copy of the tree by symbolic links. Only fs/ext4/mballoc.c is a file: the
// tree's with the driver behind it. An existing directory is brought up to date. What has not
// changed keeps its time, so that make builds no more than it must. If the tree has objects among
// its sources, the directory has the files that git knows or does not ignore. With `changes`, and
// in a directory that was made with some before, the changed ones are files, too.
[[nodiscard]] Status make_overlay(const Tree& tree, const std::string& directory,
                                  const Changes& changes = {});

// For make, as KCFLAGS: the compiler reads a header of the driver's before each file.
[[nodiscard]] std::string compiler_flags();

// Makes a directory the tree's to build in. The Error: it is another tree's. make goes by the times
// of files, so of two trees in one directory the older file would not be compiled again.
[[nodiscard]] Status claim_directory(const Tree& tree, const std::string& directory);

// The configuration that the guest needs, as KCONFIG_ALLCONFIG takes it.
[[nodiscard]] Status write_config(const std::string& path);
// The Error names a line of it that the .config of a build has not honoured.
[[nodiscard]] Status check_config(const std::string& dot_config);

}  // namespace e4r::guest
