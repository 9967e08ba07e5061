// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/rows.h"
#include "watch/exposition.h"
#include "watch/watcher.h"

namespace e4r::watch {

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
