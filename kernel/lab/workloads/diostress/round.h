// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "stress.h"

// One round: a new file with a layout drawn at random; at its end every sector is compared.
namespace dio {

// Makes the file anew and lays it out: written, unwritten, holes, a part in which writes overlap, a
// size that is often not a whole number of blocks. `model` is of a file without contents.
void lay_out(Stress& stress, Target& target, const std::string& path, Model& model);

// Compares all sectors, read directly and then through the page cache, and the size.
void verify(Stress& stress, const Target& target, const std::string& when);

// What is behind the end of the file in its last block, and allocated behind it, must read as zeros
// when the file is extended over it.
void verify_behind(Stress& stress, const Target& target);

}  // namespace dio
