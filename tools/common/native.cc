// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/native.h"

#include <fmt/format.h>
#include <unistd.h>

#include "common/child.h"
#include "lazyinit/mkfs_options.h"
#include "util/fd.h"

namespace e4r::tools {
namespace {

constexpr std::uint64_t kSmallest = 64u << 10;  // the smallest size in which ext2 has room for its
                                                // metadata, in bytes

// Runs the program with a value of `key` that it refuses. Returns the valid values, which its
// message lists.
std::vector<std::string> ask(const std::string& program, std::vector<std::string> argv,
                             const char* key) {
  const auto said = run_captured(program, std::move(argv));
  if (!said.ok() || said->status == 0) return {};
  return lazyinit::values_of_key(said->text, key);
}

}  // namespace

std::vector<std::string> methods_of_mke2fs(const std::string& mke2fs) {
  return ask(mke2fs, {"mke2fs", "-n", "-F", "-E", "itable_init=?", "/dev/null", "64"},
             "itable_init");
}

std::vector<std::string> commands_of_tune2fs(const std::string& tune2fs) {
  const auto mke2fs = find_mke2fs();
  const Fd memory = memory_file("tune2fs-lazy", kSmallest);
  if (!mke2fs.ok() || !memory.is_open()) return {};
  const std::string image = fmt::format("/proc/{}/fd/{}", ::getpid(), memory.get());
  const auto made =
      run_captured(*mke2fs, {"mke2fs", "-q", "-F", "-t", "ext2", "-b", "1024", "-N", "16", image});
  if (!made.ok() || made->status != 0) return {};
  return ask(tune2fs, {"tune2fs", "-E", "itable=?", image}, "itable");
}

}  // namespace e4r::tools
