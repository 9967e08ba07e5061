// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "common/command.h"

namespace e4r::tools {

// trace info, trace convert, trace cut.
extern const Command kTraceCommand;

}  // namespace e4r::tools
