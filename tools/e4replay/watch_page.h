// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <chrono>

#include "e4replay/watch_metrics.h"
#include "watch/document.h"
#include "watch/page.h"
#include "watch/watcher.h"

namespace e4r::tools {

// Shows a full-screen page until the user quits, `stop` is set, the file system is unmounted, or
// the time is up (0: unlimited). Afterwards, prints the page's notes again, as warnings.
[[nodiscard]] Status run_watch_page(watch::Watcher& watcher,
                                    std::unique_ptr<watch::Terminal> terminal,
                                    WatchMetrics& metrics, const watch::ShownFigures& figures,
                                    const std::atomic<bool>& stop, std::chrono::milliseconds every,
                                    std::chrono::milliseconds most);

}  // namespace e4r::tools
