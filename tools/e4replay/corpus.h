// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "util/status.h"

// The captures of real programs that come with the project (traces/corpus, docs/corpus.md).
namespace e4r::tools {

// Where they are: installed with this program (share/e4replay/corpus beside its bin), or in the
// source tree below which it was built; empty: in neither place.
[[nodiscard]] std::string find_corpus();

// The captures in one file each that lie in the directory, by name. Errors: there are none.
[[nodiscard]] Result<std::vector<std::string>> captures_in(const std::string& directory);

}  // namespace e4r::tools
