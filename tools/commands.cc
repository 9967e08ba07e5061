// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"

#include <array>

#include "cmd_trace.h"

namespace e4r::tools {

std::span<const Command> commands() {
  static const std::array kTable = {
      kTraceCommand,
  };
  return kTable;
}

}  // namespace e4r::tools
