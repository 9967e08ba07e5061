// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "ext4/geometry.h"
#include "trace/source.h"
#include "util/status.h"

namespace e4r::replay {

// Whether a trace can have been taken on a file system of this shape: groups, clusters per group,
// blocks, inodes, and, by where the kernel said a result's first block is, the sizes of block,
// cluster and group. Reads the whole trace and applies nothing. The Error says which event does not
// fit and why, for the end of a sentence that names both; or it is the source's.
//
// A trace that fits may still say what cannot be: see Intake.
[[nodiscard]] Status check_fit(const Geometry& geometry, trace::EventSource& events);

}  // namespace e4r::replay
