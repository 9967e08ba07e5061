// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/rows.h"
#include "watch/watcher.h"

// The metrics of a watch, and the text formats in which Prometheus reads them.
namespace e4r::watch {

// The text format of Prometheus, version 0.0.4, or the text format of OpenMetrics, version 1.0.0.
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

// The name of a row's metric: "files/extents" becomes "e4replay_files_extents", followed by the
// base unit. The row's criterion is not part of the name.
[[nodiscard]] std::string metric_name(const results::Row& row);

// The reports of a watch as metrics. Counters add up over all start images, so they never decrease.
// What happens between the last report under one start image and the first report under the next is
// not counted.
class Metrics {
 public:
  // `version`: the version of this program.
  explicit Metrics(std::string_view version) : version_(version) {}

  void add(const Report& report);
  // Empty before the first report. Each name occurs once.
  [[nodiscard]] std::vector<MetricFamily> families() const;

 private:
  // The value of a counter under earlier start images, and under this one. Each attempt to follow
  // from a start image counts from zero, so `now` is the highest count of all attempts.
  struct Counter {
    double before = 0, now = 0;
    [[nodiscard]] double value() const { return before + now; }
  };
  using Key = std::pair<std::string, std::string>;  // the figure's key, the allocator

  void count(const std::string& key, const std::string& allocator, double value);
  [[nodiscard]] const Counter* find(const std::string& key, const std::string& allocator) const;
  [[nodiscard]] MetricLabels labels() const;
  [[nodiscard]] MetricLabels labels_of(const std::string& allocator) const;
  void add_row(std::vector<MetricFamily>& out, const results::Row& row) const;
  void add_histogram(std::vector<MetricFamily>& out) const;
  void add_health(std::vector<MetricFamily>& out) const;

  std::string version_;
  Report last_;
  std::map<Key, Counter> counters_;
  std::vector<std::string> allocators_;  // in order of first appearance
};

}  // namespace e4r::watch
