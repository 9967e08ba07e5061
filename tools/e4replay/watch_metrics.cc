// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/watch_metrics.h"

namespace e4r::tools {

Result<std::unique_ptr<WatchMetrics>> WatchMetrics::open(
    const std::string& file, const std::optional<watch::ListenAddress>& listen) {
  auto out = std::make_unique<WatchMetrics>();
  if (!file.empty()) {
    E4R_TRY(out->file_, watch::MetricsFile::open(file));
  }
  if (listen) {
    E4R_TRY(out->server_, watch::MetricsServer::open(*listen));
  }
  return out;
}

void WatchMetrics::take(watch::Report& report) {
  show(report);
  if (file_ == nullptr) return;
  if (const auto failure = file_->take_error()) report.notes.push_back("metrics: " + *failure);
}

void WatchMetrics::end(watch::Report& report) {
  watch::Report last = report;
  last.is_over = true;
  show(last);
}

void WatchMetrics::show(const watch::Report& report) {
  if (file_ == nullptr && server_ == nullptr) return;
  metrics_.add(report);
  const std::vector<watch::MetricFamily> families = metrics_.families();
  std::string text = exposition(families, watch::Exposition::prometheus);
  if (server_ != nullptr)
    server_->show({text, exposition(families, watch::Exposition::openmetrics)});
  if (file_ != nullptr) file_->write(std::move(text));
}

}  // namespace e4r::tools
