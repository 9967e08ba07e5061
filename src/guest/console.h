// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

// The console output of guest kernels.
namespace e4r::guest {

// The reason why a kernel ended or hangs, from its console.
struct Trouble {
  std::string what;                // the most telling line: an error, a warning, a panic
  std::vector<std::string> calls;  // the backtrace after it, innermost call first
};
[[nodiscard]] Trouble trouble_of(std::string_view console);
// Formats it: "WARNING: ... at fs/ext4/mballoc.c:5571 ext4_mb_new_blocks+0x1a/0x20; called by a < b
// < c".
[[nodiscard]] std::string trouble_text(std::string_view console);

// Restores the tree's own file names, which the overlay changes (mballoc-tree.c to mballoc.c).
[[nodiscard]] std::string with_names_of_tree(std::string_view console);

// Starts to keep the consoles of all kernels of this program, also after they end (`--kernel-log
// FILE`). Thread-safe.
void keep_consoles();
// Adds a console if consoles are kept.
void note_console(std::string_view kernel, std::string_view console);
// All consoles so far, each under a line that names its kernel.
[[nodiscard]] std::string kept_consoles();

}  // namespace e4r::guest
