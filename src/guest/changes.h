// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <optional>
#include <string>

#include "guest/overlay.h"
#include "util/status.h"

// Pairs of kernel trees: one without a change and one with it.
namespace e4r::guest {

// The differences of two trees, for the same files in both. A file that a tree lacks has no content
// there.
struct TwoTrees {
  FileChanges base, with;
  std::string base_commit, with_commit;  // set by with_commits()
};

// Returns the tree as it is, and the tree with a patch in the format of `git diff` or `git
// format-patch`. The Error names the part of the patch that does not apply.
[[nodiscard]] Result<TwoTrees> with_patch(const Tree& tree, const std::string& patch);

// Returns the tree at the first and at the second commit of "A..B". Fails if the tree is not a git
// repository or lacks the commits.
[[nodiscard]] Result<TwoTrees> with_commits(const Tree& tree, const std::string& range);

// Returns another mballoc.c for the tree. A mballoc.h beside it replaces the tree's, too. The Error
// says what cannot be read.
[[nodiscard]] Result<FileChanges> with_mballoc(const std::string& mballoc_c);

}  // namespace e4r::guest
