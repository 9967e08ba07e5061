// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/policy.h"
#include "util/status.h"

namespace e4r::guest {

// What -p calls the code of a kernel: "kernel:FILE".
inline constexpr std::string_view kKernelPrefix = "kernel:";
[[nodiscard]] inline bool is_kernel_name(std::string_view policy) {
  return policy.starts_with(kKernelPrefix);
}
// Whether the policy stands for the code of a kernel.
[[nodiscard]] inline bool is_kernel(const allocator::Policy& policy) {
  return is_kernel_name(policy.name);
}

// A kernel that `e4replay kernel build` has made.
struct KernelFile {
  std::string path;
  std::string release;         // as `uname -r`
  std::uint32_t criteria = 0;  // that its allocator has; 0: it does not say
  std::string commit = {};     // that its tree was at; empty: git did not know the tree
  bool dirty = false;          // the tree had changes that were not committed
};

// A tunable that only the tree has: a file of /sys/fs/ext4/DEV and what is written there.
struct TreeTunable {
  std::string name, value;
};

// What stands behind "kernel:": FILE, or FILE:OPTION:OPTION with options for its mount, for a tree
// that decides by one, and tunables of its own ("sysfs.NAME=VALUE"). A file whose name has a colon
// is that file.
struct KernelChoice {
  std::string path;
  std::string mount_options;  // as mount takes them, with commas
  std::vector<TreeTunable> tunables;
};
[[nodiscard]] KernelChoice parse_kernel(const std::string& text);

// Looks at the file without starting it. The Error says what else it is, or which driver it has.
[[nodiscard]] Result<KernelFile> read_kernel_file(const std::string& path);

// The kernel of parse_kernel(text) as a policy: its name is "kernel:" and the text without the
// file's directory, its source is the text, its criteria and the names of its counters are those of
// the model of that release, or, where a patch has added criteria, of a model with as many. It says
// nothing of what the code decides. Good for as long as the program runs. The Error says what is
// wrong with the file or with a tunable: that it has no value, or that every tree has it, so that
// --set is for it.
[[nodiscard]] Result<const allocator::Policy*> kernel_policy(const std::string& text);

// The same of a kernel whose file need not be there any more, under the name that it had; `path` is
// its policy's source. Another program has read the file.
[[nodiscard]] const allocator::Policy& noted_kernel_policy(const std::string& name,
                                                           const KernelFile& file);

}  // namespace e4r::guest
