// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"

#include <array>

namespace e4r::tools {

std::span<const Command> commands() {
  static const std::array<Command, 0> kTable = {};
  return kTable;
}

}  // namespace e4r::tools
