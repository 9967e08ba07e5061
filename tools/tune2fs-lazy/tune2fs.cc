// SPDX-License-Identifier: GPL-2.0-or-later
#include "tune2fs-lazy/tune2fs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/child.h"
#include "common/print_line.h"
#include "lazyinit/enable.h"
#include "lazyinit/orphan_file.h"

namespace e4r::tools {
namespace {

// The output of a tool without its version, as one line.
std::string one_line(const std::string& text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string piece = text.substr(at, end - at);
    if (!piece.empty() && !piece.starts_with("tune2fs 1."))
      line += (line.empty() ? "" : " ") + piece;
    at = end + 1;
  }
  return line;
}

// Runs tune2fs -O FEATURES IMAGE. Returns its output as one line, also in the Error when it fails.
Result<std::string> run_tune2fs(const std::string& features, const std::string& image) {
  std::vector<std::string> arguments = {find_program("tune2fs"), "-O", features, image};
  if (arguments.front().empty()) return error("tune2fs is not installed (Debian: e2fsprogs)");
  const std::string program = arguments.front();
  E4R_TRY(const Captured ran, run_captured(program, std::move(arguments)));
  if (ran.status == 0) return one_line(ran.text);
  return error("tune2fs -O {} {} failed: {}", features, image, one_line(ran.text));
}

Result<std::vector<bool>> flagged_groups(const std::string& image) {
  E4R_TRY(const auto target, lazyinit::Target::open(image, lazyinit::Target::Access::read));
  return lazyinit::flagged_zeroed(*target);
}

}  // namespace

Status change_metadata_csum(const ImageOptions& options, const std::string& features,
                            const lazyinit::ImageLock& lock) {
  if (options.dry_run) {
    print_line("would have run tune2fs -O {} {}", features, options.image);
    return {};
  }
  E4R_TRY(const auto flagged, flagged_groups(options.image));
  E4R_TRY(const std::string said, run_tune2fs(features, options.image));
  if (!said.empty()) print_line("tune2fs: {}", said);
  E4R_TRY(const auto target, open_target(options, lock));
  E4R_CHECK(lazyinit::keep_flags(*target, flagged));
  E4R_CHECK(lazyinit::renew_orphan_checksums(*target));
  E4R_TRY(const bool wants_check, lazyinit::unclean(*target));
  if (wants_check)
    return error(
        "{}: tune2fs -O {} is done and wants a check, which this command needs to go on: run "
        "e2fsck -fyD {}, then the same command once more",
        options.image, features, options.image);
  return {};
}

}  // namespace e4r::tools
