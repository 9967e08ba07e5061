// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <optional>
#include <string>

#include "guest/overlay.h"
#include "util/status.h"

// Two kernels of one tree: without a change and with it.
namespace e4r::guest {

// The two differ in the same files. What one of them does not have has no content there.
struct TwoTrees {
  Changes base, with;
  std::string base_commit, with_commit;  // of with_commits()
};

// The tree as it lies there, and the same with a patch, as `git diff` and `git format-patch` write
// it. The Error says what of it does not apply.
[[nodiscard]] Result<TwoTrees> with_patch(const Tree& tree, const std::string& patch);

// The tree as it was at the first and as it was at the second commit of "A..B". The Error: the tree
// is none of git's, or has no such commits.
[[nodiscard]] Result<TwoTrees> with_commits(const Tree& tree, const std::string& range);

}  // namespace e4r::guest
