// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "watch/metrics.h"
#include "watch/metrics_file.h"
#include "watch/metrics_server.h"

namespace e4r::tools {

// Where the metrics of a watch go: a file, a port, both, or nowhere.
class WatchMetrics {
 public:
  // `file`: empty for no file. The Error says which of both cannot be had.
  [[nodiscard]] static Result<std::unique_ptr<WatchMetrics>> open(
      const std::string& file, const std::optional<watch::ListenAddress>& listen);

  // Shows the report's figures. Adds to its notes what went wrong meanwhile.
  void take(watch::Report& report);
  // Likewise with the last report: nothing is followed any more.
  void end(watch::Report& report);

 private:
  void show(const watch::Report& report);

  watch::Metrics metrics_{E4R_VERSION};
  std::unique_ptr<watch::MetricsFile> file_;
  std::unique_ptr<watch::MetricsServer> server_;
};

}  // namespace e4r::tools
