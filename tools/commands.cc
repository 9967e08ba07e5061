// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"

#include <array>

namespace e4r::tools {

// One per cmd_*.cc.
const Command& freefrag_command();

std::span<const Command> commands() {
  static const std::array kTable = {
      freefrag_command(),
  };
  return kTable;
}

}  // namespace e4r::tools
