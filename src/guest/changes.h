// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <optional>
#include <string>

#include "guest/overlay.h"
#include "util/status.h"

// Pairs of kernel trees: one without and one with a change.
namespace e4r::guest {

// The differing files of two trees. Both maps have the same files; a file that a tree lacks has no
// content in its map.
struct TwoTrees {
  FileChanges base, with;
  std::string base_commit, with_commit;  // set by with_commits()
};

// Returns the unchanged tree, and the tree with a patch in the format of `git diff` or `git
// format-patch`. The Error names the part of the patch that does not apply.
[[nodiscard]] Result<TwoTrees> with_patch(const Tree& tree, const std::string& patch);

// Returns the tree at the first and at the second commit of "A..B". Fails if the tree is not a git
// repository or lacks the commits.
[[nodiscard]] Result<TwoTrees> with_commits(const Tree& tree, const std::string& range);

// Returns a replacement for the tree's mballoc.c. If there is a mballoc.h next to `mballoc_c`, it
// replaces the tree's as well. The Error says what cannot be read.
[[nodiscard]] Result<FileChanges> with_mballoc(const std::string& mballoc_c);

}  // namespace e4r::guest
