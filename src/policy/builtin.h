// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "policy/policy.h"

namespace e4r::policy {

// One object per policy file; registry.cc lists them.
extern const Policy kLinear;
extern const Policy kLegacy;
extern const Policy kCr15;

}  // namespace e4r::policy
