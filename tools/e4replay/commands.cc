// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>

#include "common/command.h"
#include "e4replay/cmd_trace.h"

namespace e4r::tools {

// One per cmd_*.cc.
const Command& age_command();
const Command& freefrag_command();
const Command& info_command();
const Command& policies_command();
const Command& record_command();
const Command& replay_command();
const Command& shrinker_command();
const Command& sweep_command();
const Command& verify_command();

std::span<const Command> commands() {
  static const std::array kTable = {
      record_command(), replay_command(),   sweep_command(), verify_command(),   info_command(),
      kTraceCommand,    freefrag_command(), age_command(),   policies_command(), shrinker_command(),
  };
  return kTable;
}

}  // namespace e4r::tools
