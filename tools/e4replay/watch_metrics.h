// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "watch/metrics.h"
#include "watch/metrics_output.h"

namespace e4r::tools {

// The destinations of a watch's metrics: a file, a port, both, or none.
class WatchMetrics {
 public:
  // If `file` is empty, no file is written. The Error says which of the two could not be opened.
  [[nodiscard]] static Result<std::unique_ptr<WatchMetrics>> open(
      const std::string& file, const std::optional<watch::ListenAddress>& listen);

  // Publishes the report's figures. Adds new problems to the report's notes.
  void take(watch::Report& report);
  // Publishes the last report, which says that the file system is no longer followed.
  void end(watch::Report& report);

 private:
  void show(const watch::Report& report);

  watch::Metrics metrics_{E4R_VERSION};
  std::unique_ptr<watch::MetricsFile> file_;
  std::unique_ptr<watch::MetricsServer> server_;
};

}  // namespace e4r::tools
