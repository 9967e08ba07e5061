// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// All tests of the model use the file systems, allocators and workloads of the conformance suite.
#include "conformance/checks.h"
#include "conformance/model_fs.h"
#include "conformance/workload.h"

namespace e4r::test {
using namespace e4r::conformance;
}
