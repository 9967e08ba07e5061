// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>

#include "common/command.h"
#include "common/run.h"
#include "common/version.h"
#include "e4replay/options.h"

namespace e4r::tools {

// The commands, one for each cmd_*.cc.
const Command& age_command();
const Command& freefrag_command();
const Command& hunt_command();
const Command& image_command();
const Command& info_command();
const Command& kernel_command();
const Command& map_command();
const Command& policies_command();
const Command& record_command();
const Command& replay_command();
const Command& review_command();
const Command& shrinker_command();
const Command& sweep_command();
const Command& trace_command();
const Command& verify_command();
const Command& watch_command();

std::span<const Command> commands() {
  // Ordered as a new user needs them: first the commands that answer the question and show whether
  // the answer can be trusted, then the commands for the user's own file system instead of a
  // bundled one, then the commands that examine files, then the rest.
  static const std::array kTable = {
      replay_command(), verify_command(),   review_command(), record_command(),
      watch_command(),  sweep_command(),    hunt_command(),   kernel_command(),
      info_command(),   freefrag_command(), map_command(),    image_command(),
      trace_command(),  policies_command(), age_command(),    shrinker_command(),
  };
  return kTable;
}

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  e4replay replay start.img run.trace.zst -p legacy,cr1.5 --histogram\n"
    "                                                what would CR1.5 have made of it?\n"
    "  e4replay verify start.img run.trace.zst       does the model decide like the kernel did?\n"
    "  e4replay trace info run.trace.zst             what is in the trace, what is missing\n"
    "  e4replay freefrag disk.img                    free extents by size\n"
    "  e4replay map disk.img                         where they lie\n"
    "\n"
    "`e4replay SUBCOMMAND --help` shows more. Exit status: 0 success, 1 failure,\n"
    "2 wrong command line, 3 verify found a difference, 130 a signal stopped a sweep.\n";

}  // namespace

const Program& program() {
  static const Program kProgram = {
      "e4replay",
      "e4replay: replay ext4 allocation traces offline under several allocator policies",
      kExamples,
      value_of,
      left_out(),
  };
  return kProgram;
}

}  // namespace e4r::tools

int main(int argc, char** argv) {
  return e4r::tools::run_guarded("e4replay", e4r::tools::run_commands, argc, argv);
}
