// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "common/command.h"
#include "common/run.h"

namespace e4r::tools {

// One for each command, defined in this directory.
const Command& disable_command();
const Command& enable_command();
const Command& finish_command();
const Command& rearm_command();
const Command& set_command();
const Command& status_command();
const Command& verify_command();

std::span<const Command> commands() {
  static const std::array kTable = {
      status_command(), finish_command(), verify_command(),  rearm_command(),
      set_command(),    enable_command(), disable_command(),
  };
  return kTable;
}

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  tune2fs-lazy status disk.img                  what is zeroed, what is left\n"
    "  tune2fs-lazy finish /dev/vg/data --mult 5     zero what is left, gently\n"
    "  tune2fs-lazy verify disk.img                  are the flags true?\n"
    "\n"
    "`tune2fs-lazy SUBCOMMAND --help` shows more, and tune2fs-lazy(8) everything. Exit status:\n"
    "0 success, 1 failure, 2 wrong command line, 3 verify found a false flag.\n";

// Returns how to complete the value of an option with this placeholder in --help.
completion::ValueCompletion value_of(std::string_view placeholder) {
  using completion::ValueCompletion;
  if (placeholder == "IMAGE" || placeholder == "FILE") return {ValueCompletion::Kind::file};
  if (placeholder == "OPTION")
    return {ValueCompletion::Kind::words, {{"init_itable="}, {"noinit_itable"}, {"default"}}};
  return {};
}

}  // namespace

const Program& program() {
  static const Program kProgram = {
      "tune2fs-lazy",
      "tune2fs-lazy: lazily initialised inode tables of an unmounted ext4 file system",
      kExamples,
      value_of,
  };
  return kProgram;
}

}  // namespace e4r::tools

namespace e4r::tools {
namespace {

// A user of mke2fs-lazy, which accepts mke2fs's options, may expect that tune2fs-lazy accepts
// tune2fs's. The message says that tune2fs-lazy does not accept them.
int run(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first.size() < 2 || first[0] != '-' || first == "-h" || first.starts_with("--"))
    return run_commands(argc, argv);
  return usage_error(
      fmt::format("unknown option '{}': this program has subcommands (status, finish, verify, ...) "
                  "and does not accept tune2fs's options: run tune2fs for them",
                  first));
}

}  // namespace
}  // namespace e4r::tools

int main(int argc, char** argv) {
  return e4r::tools::run_guarded("tune2fs-lazy", e4r::tools::run, argc, argv);
}
