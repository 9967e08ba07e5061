// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>

#include "tune2fs-lazy/session.h"
#include "util/status.h"

namespace e4r::tools {

// The path of the installed tune2fs, if it has this command of -E itable= ("finish", "probe" or
// "rearm").
[[nodiscard]] std::optional<std::string> tune2fs_with(const std::string& command);

// Runs `tune2fs -E itable=COMMAND` on the image, under `lock`, on this process's terminal. This
// process must not have the image open. With --undo, tune2fs makes the undo file. Returns an Error
// if tune2fs fails.
[[nodiscard]] Status run_itable(const std::string& tune2fs, const std::string& command,
                                const ImageOptions& options, const lazyinit::ImageLock& lock);

}  // namespace e4r::tools
