// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>

#include "common/command.h"
#include "e4replay/cmd_trace.h"

namespace e4r::tools {

// One per cmd_*.cc.
const Command& age_command();
const Command& freefrag_command();
const Command& hunt_command();
const Command& info_command();
const Command& kernel_command();
const Command& map_command();
const Command& policies_command();
const Command& record_command();
const Command& replay_command();
const Command& review_command();
const Command& shrinker_command();
const Command& sweep_command();
const Command& verify_command();

std::span<const Command> commands() {
  // In the order in which a newcomer needs them: the question, whether to believe the answer, one's
  // own file system instead of a bundled one; then what looks at files, and the rest.
  static const std::array kTable = {
      replay_command(), verify_command(),   review_command(), record_command(),   sweep_command(),
      hunt_command(),   kernel_command(),   info_command(),   freefrag_command(), map_command(),
      kTraceCommand,    policies_command(), age_command(),    shrinker_command(),
  };
  return kTable;
}

}  // namespace e4r::tools
