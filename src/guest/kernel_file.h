// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "allocator/policy.h"
#include "util/status.h"

namespace e4r::guest {

// What -p calls the code of a kernel: "kernel:FILE".
inline constexpr std::string_view kKernelPrefix = "kernel:";

// A kernel that `e4replay kernel build` has made.
struct KernelFile {
  std::string path;
  std::string release;  // as `uname -r`
};

// Looks at the file without starting it. The Error says what else it is, or which driver it has.
[[nodiscard]] Result<KernelFile> read_kernel_file(const std::string& path);

// The kernel as a policy: its name is "kernel:" and the file's name without its directory, its
// source is the file, its criteria and the names of its counters are those of the model of that
// release. It says nothing of what the code decides. Good for as long as the program runs.
[[nodiscard]] Result<const allocator::Policy*> kernel_policy(const std::string& path);

// The same of a kernel whose file need not be there any more, under the name that it had. Another
// program has read the file.
[[nodiscard]] const allocator::Policy& noted_kernel_policy(const std::string& name,
                                                           const KernelFile& file);

}  // namespace e4r::guest
