// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Metrics in the text formats that Prometheus reads.
namespace e4r::watch {

// The text format of Prometheus, version 0.0.4, or that of OpenMetrics, version 1.0.0.
enum class Exposition : std::uint8_t { prometheus, openmetrics };

// The format for a client that sends this Accept header (empty if it sent none): OpenMetrics if the
// client accepts it.
[[nodiscard]] Exposition exposition_for(std::string_view accept);
[[nodiscard]] std::string_view content_type(Exposition format);

enum class MetricType : std::uint8_t { counter, gauge, histogram, info };

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

struct MetricSample {
  MetricLabels labels;
  double value = 0;
  std::string_view suffix = {};  // "_bucket", "_sum" or "_count" of a histogram
};

// All samples with the same name.
struct MetricFamily {
  std::string name;  // without "_total" and "_info"
  MetricType type = MetricType::gauge;
  std::string_view unit = {};  // the last word of the name; empty for a number without a unit
  std::string help;
  std::vector<MetricSample> samples;
};

// Formats the families. Those without samples are left out. Label values may contain any bytes.
[[nodiscard]] std::string exposition(const std::vector<MetricFamily>& families, Exposition format);

}  // namespace e4r::watch
