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

// Compares the size and all sectors with the model. Reads the sectors directly, and then through
// the page cache.
void verify(Stress& stress, const Target& target, const std::string& when);

// Extends the file and checks that everything beyond the old end reads as zeros: the rest of the
// old last block, and the blocks allocated after it.
void verify_behind(Stress& stress, const Target& target);

}  // namespace dio
