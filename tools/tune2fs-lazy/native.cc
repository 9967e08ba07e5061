// SPDX-License-Identifier: GPL-2.0-or-later
#include "tune2fs-lazy/native.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "common/child.h"
#include "common/native.h"

namespace e4r::tools {

std::optional<std::string> tune2fs_with(const std::string& command) {
  auto program = find_tune2fs();
  if (!program.ok()) return std::nullopt;
  const std::vector<std::string> has = commands_of_tune2fs(*program);
  if (std::ranges::find(has, command) == has.end()) return std::nullopt;
  return *std::move(program);
}

Status run_itable(const std::string& tune2fs, const std::string& command,
                  const ImageOptions& options, const lazyinit::ImageLock& /*lock*/) {
  std::vector<std::string> argv = {"tune2fs"};
  if (!options.undo.empty()) argv.insert(argv.end(), {"-z", options.undo});
  // tune2fs probes a device only with -f, because the device's zeros may not last. The caller has
  // checked that they last.
  if (command == "probe") argv.emplace_back("-f");
  argv.insert(argv.end(), {"-E", "itable=" + command, options.image});
  std::fflush(stdout);
  E4R_TRY(const int status, run_child(tune2fs, std::move(argv)));
  if (status == 0) return {};
  return error("{} -E itable={} {} failed with status {}", tune2fs, command, options.image, status);
}

}  // namespace e4r::tools
