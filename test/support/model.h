// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// The conformance suite's file systems, allocators and workloads serve all tests of the model.
#include "conformance/model_fs.h"
#include "conformance/rig.h"
#include "conformance/trace_writer.h"
#include "conformance/workload.h"

namespace e4r::test {
using namespace e4r::conformance;
}
