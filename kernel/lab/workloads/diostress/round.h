// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "stress.h"

// One round: a new file with a random layout; at the end every sector is compared.
namespace dio {

// Creates the file with its layout: written, unwritten, holes, a part in which writes overlap, and
// a size that often is not a whole number of blocks. `model` is for an empty file.
void lay_out(Stress& stress, Target& target, const std::string& path, Model& model);

// Compares all sectors, read directly and then through the page cache, and the size.
void verify(Stress& stress, const Target& target, const std::string& when);

// Extends the file and checks that its last block behind the old end, and blocks allocated behind
// it, read as zeros.
void verify_behind(Stress& stress, const Target& target);

}  // namespace dio
