// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "stress.h"

// One round uses a new file with a random layout, and compares every sector at the end.
namespace dio {

// Creates the file with its layout: written and unwritten extents, holes, a part in which writes
// overlap, and a size that often is not a whole number of blocks. `model` must describe an empty
// file.
void lay_out(Stress& stress, Target& target, const std::string& path, Model& model);

// Compares all sectors, read directly and then through the page cache, and the size.
void verify(Stress& stress, const Target& target, const std::string& when);

// Extends the file and checks that zeros are read beyond the old end: in the rest of its last
// block, and in blocks allocated after it.
void verify_behind(Stress& stress, const Target& target);

}  // namespace dio
