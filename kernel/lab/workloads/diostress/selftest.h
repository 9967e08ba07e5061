// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace dio {

// Tests the model with invented outcomes. Returns an exit status.
int self_test();

}  // namespace dio
