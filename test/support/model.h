// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// All tests of the model use the file systems, allocators and workloads of the conformance suite.
#include "conformance/model_fs.h"
#include "conformance/rig.h"
#include "conformance/trace_writer.h"
#include "conformance/workload.h"

namespace e4r::test {
using namespace e4r::conformance;
}
