// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "util/text.h"

namespace e4r::watch {
namespace {

std::string_view type_name(MetricType type, Exposition format) {
  switch (type) {
    case MetricType::counter:
      return "counter";
    case MetricType::histogram:
      return "histogram";
    case MetricType::info:
      if (format == Exposition::openmetrics) return "info";
      break;
    case MetricType::gauge:
      break;
  }
  return "gauge";
}

std::string_view suffix_of(MetricType type) {
  if (type == MetricType::counter) return "_total";
  return type == MetricType::info ? "_info" : "";
}

// The text with "\xHH" in place of bytes that are not UTF-8. U+FFFD is replaced likewise, because
// no query can name a value that contains it.
std::string queryable(std::string_view text) {
  constexpr std::uint32_t kReplacement = 0xfffd;
  std::string out;
  while (!text.empty()) {
    const Character c = first_character(text);
    const std::string_view here = text.substr(0, std::max<std::size_t>(c.bytes, 1));
    text.remove_prefix(here.size());
    if (c.bytes != 0 && c.code != kReplacement) {
      out += here;
      continue;
    }
    for (const char one : here) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(one));
  }
  return out;
}

// Escapes line breaks and backslashes and, with `quotes`, double quotes.
std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : queryable(text)) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    out += c;
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value == std::floor(value) && std::abs(value) < kExact)
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

void add_labels(std::string& out, const MetricLabels& labels) {
  char before = '{';
  for (const auto& [name, value] : labels) {
    out += fmt::format("{}{}=\"{}\"", before, name, escaped(value, true));
    before = ',';
  }
  if (!labels.empty()) out += '}';
}

void add_family(std::string& out, const MetricFamily& family, Exposition format) {
  const bool open = format == Exposition::openmetrics;
  const std::string_view suffix = suffix_of(family.type);
  // Only OpenMetrics names the family without the suffix of its samples.
  const std::string name = open ? family.name : fmt::format("{}{}", family.name, suffix);
  out += fmt::format("# HELP {} {}\n", name, escaped(family.help, open));
  out += fmt::format("# TYPE {} {}\n", name, type_name(family.type, format));
  if (open && !family.unit.empty()) out += fmt::format("# UNIT {} {}\n", name, family.unit);
  for (const MetricSample& sample : family.samples) {
    out += fmt::format("{}{}", family.name, sample.suffix.empty() ? suffix : sample.suffix);
    add_labels(out, sample.labels);
    out += fmt::format(" {}\n", number(sample.value));
  }
}

// Whether one element of an Accept header accepts that kind with a weight other than zero.
bool accepts(std::string_view element, std::string_view kind) {
  std::string plain = boost::algorithm::to_lower_copy(std::string(element));
  std::erase_if(plain, [](char c) { return c == ' ' || c == '\t'; });
  if (plain.substr(0, plain.find(';')) != kind) return false;
  const auto weight = plain.find(";q=");
  return weight == std::string::npos ||
         plain.find_first_not_of("0.", weight + 3) < plain.find(';', weight + 1);
}

}  // namespace

Exposition exposition_for(std::string_view accept) {
  while (!accept.empty()) {
    const auto comma = accept.find(',');
    if (accepts(accept.substr(0, comma), "application/openmetrics-text"))
      return Exposition::openmetrics;
    accept = comma == std::string_view::npos ? std::string_view() : accept.substr(comma + 1);
  }
  return Exposition::prometheus;
}

std::string_view content_type(Exposition format) {
  return format == Exposition::openmetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string exposition(const std::vector<MetricFamily>& families, Exposition format) {
  std::string out;
  for (const MetricFamily& family : families)
    if (!family.samples.empty()) add_family(out, family, format);
  if (format == Exposition::openmetrics) out += "# EOF\n";
  return out;
}

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
