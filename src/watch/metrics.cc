// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace e4r::watch {
namespace {

using results::Row;
using results::Unit;

constexpr std::string_view kPrefix = "e4replay_";
constexpr const char *kIdentical = "#identical", *kDecisions = "#decisions", *kEvents = "#events",
                     *kHistogramSum = "#groups";

std::string bucket_key(std::size_t bucket) {
  return fmt::format("#groups/{}", bucket);
}

// The suffix that a unit has in keys, and the base unit that ends the name of a metric.
struct BaseUnit {
  std::string_view in_key, name;
};
BaseUnit base_of(Unit unit) {
  switch (unit) {
    case Unit::kib:
      return {"_kb", "bytes"};
    case Unit::bytes:
    case Unit::blocks:
    case Unit::clusters:
      return {"", "bytes"};
    case Unit::percent:
      return {"_percent", "ratio"};
    case Unit::ns:
      return {"_ns", "seconds"};
    case Unit::seconds:
      return {"", "seconds"};
    case Unit::count:
    case Unit::steps:
      break;
  }
  return {};
}

// Converts a figure to its base unit.
double in_base(double value, Unit unit, const Geometry& geometry) {
  switch (unit) {
    case Unit::kib:
      return value * 1024;
    case Unit::blocks:
      return value * geometry.block_size();
    case Unit::clusters:
      return value * geometry.block_size() * static_cast<double>(1u << geometry.cluster_bits);
    case Unit::percent:
      return value / 100;
    case Unit::ns:
      return value / 1e9;
    case Unit::bytes:
    case Unit::seconds:
    case Unit::count:
    case Unit::steps:
      break;
  }
  return value;
}

std::optional<double> value_of(const Row& row, const Column& column) {
  const auto& outcome = column.of(Window::start);
  if (!outcome) return std::nullopt;
  const auto value = results::number_of(row.of(*outcome));
  if (!value) return std::nullopt;
  return in_base(*value, row.unit, outcome->geometry);
}

// Returns the family with that name. Adds it if it does not exist.
MetricFamily& family_of(std::vector<MetricFamily>& out, const std::string& name) {
  const auto found = std::ranges::find(out, name, &MetricFamily::name);
  if (found != out.end()) return *found;
  out.emplace_back().name = name;
  return out.back();
}

}  // namespace

std::string metric_name(const Row& row) {
  std::string out = row.key;
  if (!row.criterion.empty()) out.erase(out.find_last_of('/'));
  const BaseUnit base = base_of(row.unit);
  if (const auto at = out.find(base.in_key); at != std::string::npos)
    out.erase(at, base.in_key.size());
  std::ranges::replace(out, '/', '_');
  if (!base.name.empty()) out += fmt::format("_{}", base.name);
  return fmt::format("{}{}", kPrefix, out);
}

void Metrics::count(const std::string& key, const std::string& allocator, double value) {
  Counter& counter = counters_[{key, allocator}];
  counter.now = std::max(counter.now, value);
}

const Metrics::Counter* Metrics::find(const std::string& key, const std::string& allocator) const {
  const auto found = counters_.find({key, allocator});
  return found == counters_.end() ? nullptr : &found->second;
}

void Metrics::add(const Report& report) {
  if (report.starts != last_.starts)
    for (auto& [key, counter] : counters_) counter = {counter.value(), 0};
  last_ = report;
  last_.notes.clear();
  count(kEvents, "", static_cast<double>(report.events));
  if (!report.picture) return;
  count(kDecisions, "", static_cast<double>(report.picture->decisions));
  count(kIdentical, "", static_cast<double>(report.picture->identical));
  for (const Column& column : report.picture->columns) {
    if (std::ranges::find(allocators_, column.name) == allocators_.end())
      allocators_.push_back(column.name);
    for (const Row& row : results::rows(results::Reporter::metrics))
      if (const auto value = value_of(row, column); value && row.counted)
        count(row.key, column.name, *value);
    for (std::size_t i = 0; i < GroupHistogram::kBuckets; ++i)
      count(bucket_key(i), column.name, static_cast<double>(column.groups.requests[i]));
    count(kHistogramSum, column.name, static_cast<double>(column.groups.groups));
  }
}

MetricLabels Metrics::labels() const {
  return {{"device", last_.device_name}, {"mountpoint", last_.mount_point}};
}

MetricLabels Metrics::labels_of(const std::string& allocator) const {
  MetricLabels out = labels();
  out.emplace_back("allocator", allocator);
  return out;
}

void Metrics::add_row(std::vector<MetricFamily>& out, const Row& row) const {
  MetricFamily& family = family_of(out, metric_name(row));
  family.type = row.counted ? MetricType::counter : MetricType::gauge;
  family.unit = base_of(row.unit).name;
  family.help = row.label;
  const auto add = [&](const std::string& allocator, double value) {
    MetricLabels labels = labels_of(allocator);
    if (!row.criterion.empty()) labels.emplace_back("criterion", row.criterion);
    family.samples.push_back({std::move(labels), value});
  };
  if (row.counted) {
    for (const std::string& allocator : allocators_)
      if (const Counter* counter = find(row.key, allocator)) add(allocator, counter->value());
  } else if (last_.picture) {
    for (const std::string& allocator : allocators_) {
      // If a policy was given twice, the first column with its name counts.
      const auto column = std::ranges::find(last_.picture->columns, allocator, &Column::name);
      if (column == last_.picture->columns.end()) continue;
      if (const auto value = value_of(row, *column)) add(allocator, *value);
    }
  }
}

void Metrics::add_histogram(std::vector<MetricFamily>& out) const {
  MetricFamily& family = family_of(out, fmt::format("{}request_groups", kPrefix));
  family.type = MetricType::histogram;
  family.help = "Groups that the searches of a request considered.";
  for (const std::string& allocator : allocators_) {
    double requests = 0;
    for (std::size_t i = 0; i < GroupHistogram::kBuckets; ++i) {
      requests += find(bucket_key(i), allocator)->value();
      MetricLabels labels = labels_of(allocator);
      const bool last = i + 1 == GroupHistogram::kBuckets;
      labels.emplace_back("le", last ? "+Inf" : fmt::format("{}.0", GroupHistogram::bound(i)));
      family.samples.push_back({std::move(labels), requests, "_bucket"});
    }
    family.samples.push_back(
        {labels_of(allocator), find(kHistogramSum, allocator)->value(), "_sum"});
    family.samples.push_back({labels_of(allocator), requests, "_count"});
  }
}

// Metrics of the watch itself, for which no row exists.
void Metrics::add_health(std::vector<MetricFamily>& out) const {
  const auto add = [&](const char* name, MetricType type, const char* unit, const char* help,
                       double value) -> MetricFamily& {
    MetricFamily& family = family_of(out, fmt::format("{}{}", kPrefix, name));
    family.type = type;
    family.unit = unit;
    family.help = help;
    family.samples.push_back({labels(), value});
    return family;
  };
  const auto counter = [&](const char* name, const char* unit, const char* help, double value) {
    add(name, MetricType::counter, unit, help, value);
  };
  const auto gauge = [&](const char* name, const char* unit, const char* help, double value) {
    add(name, MetricType::gauge, unit, help, value);
  };
  const auto counted = [this](const char* key) {
    const Counter* const found = find(key, "");
    return found == nullptr ? 0 : found->value();
  };
  MetricLabels& info =
      add("watch", MetricType::info, "", "Information about the watch and the running kernel.", 1)
          .samples.front()
          .labels;
  info.emplace_back("kernel", last_.kernel);
  info.emplace_back("version", version_);
  gauge("following", "", "1 if the kernel is followed, 0 while a start image is missing.",
        last_.follows && !last_.is_over ? 1 : 0);
  counter("decisions", "", "Decisions of the kernel that were compared with its model.",
          counted(kDecisions));
  counter("identical_decisions", "", "Decisions that the kernel's model made identically.",
          counted(kIdentical));
  gauge("delay_seconds", "seconds", "How far the figures lag behind the kernel.", last_.behind_s);
  counter("events", "", "Events that were read from the kernel.", counted(kEvents));
  counter("lost_events", "", "Events that the kernel dropped.", static_cast<double>(last_.lost));
  gauge("backlog_bytes", "bytes", "Memory of events that wait or are kept.",
        static_cast<double>(last_.backlog_bytes));
  counter("freeze_wait_seconds", "seconds", "How long writers waited for start images.",
          last_.frozen_total_s);
  counter("shadows_dropped", "", "Shadows that were dropped.",
          static_cast<double>(last_.shadows_dropped));
  if (last_.lazy_init)
    gauge("lazy_init_groups", "",
          "Groups whose inode tables the kernel's lazy-init thread has not zeroed yet.",
          static_cast<double>(last_.lazy_init->groups_left));
  MetricFamily& anew = family_of(out, fmt::format("{}new_start_images", kPrefix));
  anew.type = MetricType::counter;
  anew.help = "New start images, by the reason why the old one could no longer be used.";
  for (const auto& [reason, name] : kAnew) {
    MetricLabels labels = this->labels();
    labels.emplace_back("reason", name);
    anew.samples.push_back(
        {std::move(labels), static_cast<double>(last_.anew[static_cast<std::size_t>(reason)])});
  }
  if (last_.keeps)
    counter("captures", "", "Captures of the last minutes that were written.",
            static_cast<double>(last_.keeps->files));
}

std::vector<MetricFamily> Metrics::families() const {
  std::vector<MetricFamily> out;
  if (last_.starts == 0) return out;
  add_health(out);
  for (const Row& row : results::rows(results::Reporter::metrics)) add_row(out, row);
  add_histogram(out);
  return out;
}

}  // namespace e4r::watch
