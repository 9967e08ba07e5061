// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/command.h"
#include "common/guarded.h"
#include "e4replay/values.h"

namespace e4r::tools {

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
    "`e4replay SUBCOMMAND --help` has more. Exit status: 0 done, 1 could not, 2 wrong command "
    "line,\n"
    "3 verify found disagreement, 130 a signal stopped a sweep.\n";

}  // namespace

const Program& program() {
  static const Program kProgram = {
      "e4replay",
      "e4replay: replay ext4 allocation traces offline under several allocator policies",
      kExamples,
      value_of,
  };
  return kProgram;
}

}  // namespace e4r::tools

int main(int argc, char** argv) {
  return e4r::tools::guarded("e4replay", e4r::tools::run_commands, argc, argv);
}
