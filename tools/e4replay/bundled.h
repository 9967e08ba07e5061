// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "util/status.h"

// The captures that come with the project: traces/*.e4c, and the corpus of captures of real
// programs (traces/corpus, docs/corpus.md). They are installed as share/e4replay/captures and
// share/e4replay/corpus beside the bin that this program is in. A program in the source tree that
// it was built from uses the files there.
namespace e4r::tools {

// Returns the directory of the corpus, or "" if it is not installed.
[[nodiscard]] std::string find_corpus();

// Returns the path of a capture that comes with the project for its name, with or without ".e4c".
// Returns `word` itself if it has a '/', if there is such a file, or if no capture has that name.
[[nodiscard]] std::string find_capture(const std::string& word);

// Returns the captures in one file each in the directory, by name. The Error: it has no capture.
[[nodiscard]] Result<std::vector<std::string>> captures_in(const std::string& directory);

}  // namespace e4r::tools
