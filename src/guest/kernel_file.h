// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/policy.h"
#include "util/status.h"

namespace e4r::guest {

// The prefix of -p for a kernel's code: "kernel:FILE".
inline constexpr std::string_view kKernelPrefix = "kernel:";
[[nodiscard]] inline bool is_kernel_name(std::string_view policy) {
  return policy.starts_with(kKernelPrefix);
}
// Whether the policy is the code of a kernel.
[[nodiscard]] inline bool is_kernel(const allocator::Policy& policy) {
  return is_kernel_name(policy.name);
}

// A kernel made by `e4replay kernel build`.
struct KernelFile {
  std::string path;
  std::string release;         // as printed by `uname -r`
  std::uint32_t criteria = 0;  // number of the allocator's criteria; 0: unknown
  std::string commit = {};     // commit of the tree; empty: the tree was not in git
  bool dirty = false;          // the tree had uncommitted changes
};

// Returns "commit 0123456789ab with changes that are not committed" if dirty; empty if the commit
// is unknown.
[[nodiscard]] std::string commit_text(const std::string& commit, bool dirty);

// A tunable that only this tree has: a file in /sys/fs/ext4/DEV and the value to write.
struct TreeTunable {
  std::string name, value;
};

// The text after "kernel:": FILE or FILE:OPTION:OPTION. An option is a mount option, for trees
// whose decisions depend on one, or a tunable of the tree ("sysfs.NAME=VALUE"). If a file with the
// whole text as its name exists, the text names that file.
struct KernelChoice {
  std::string path;
  std::string mount_options;  // comma-separated, as mount takes them
  std::vector<TreeTunable> tunables;
};
[[nodiscard]] KernelChoice parse_kernel(const std::string& text);

// Examines the file without starting it. If the file is not a kernel with this version of the
// driver, the Error says what it is or which version it has.
[[nodiscard]] Result<KernelFile> read_kernel_file(const std::string& path);

// Returns the kernel of parse_kernel(text) as a policy, valid until the program ends. Its name is
// "kernel:" and the text without the file's directory; its source is the text. The names of its
// criteria and counters come from the model of the kernel's release or, if a patch has added
// criteria, from a model with the same number of criteria. These names say nothing about the code's
// decisions. Fails if the file is unsuitable, if a tunable lacks a value, or if every tree has the
// tunable (--set sets those).
[[nodiscard]] Result<const allocator::Policy*> kernel_policy(const std::string& text);

// Returns the policy of a kernel that another program has read. The file may no longer exist.
// `name` is the policy's earlier name; `file.path` is its source.
[[nodiscard]] const allocator::Policy& restore_kernel_policy(const std::string& name,
                                                             const KernelFile& file);

}  // namespace e4r::guest
