// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

// What kernels print.
namespace e4r::guest {

// Why a kernel ended or hangs, by its console.
struct Trouble {
  std::string what;                // the line that says most: an error, a warning, a panic
  std::vector<std::string> calls;  // of the backtrace behind it, the innermost first
};
[[nodiscard]] Trouble trouble_of(std::string_view console);
// "WARNING: ... at fs/ext4/mballoc.c:5571 ext4_mb_new_blocks+0x1a/0x20; called by a < b < c".
[[nodiscard]] std::string trouble_text(std::string_view console);

// The text with the tree's own names of files that the driver's include.
[[nodiscard]] std::string with_names_of_tree(std::string_view console);

// The consoles of all kernels of this program, which stay when their kernels end
// (`--kernel-log FILE`). Thread-safe.
void keep_consoles();
// Adds one, if they are kept.
void note_console(std::string_view kernel, std::string_view console);
// All so far, each below a line that names its kernel.
[[nodiscard]] std::string kept_consoles();

}  // namespace e4r::guest
