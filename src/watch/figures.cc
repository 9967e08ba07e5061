// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/figures.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace e4r::watch {
namespace {

using replay::Tally;

constexpr std::uint64_t Tally::*kTallied[] = {
    &Tally::requests,   &Tally::metadata,       &Tally::mapping,         &Tally::allocated_blocks,
    &Tally::failed,     &Tally::refused,        &Tally::absorbed,        &Tally::extra,
    &Tally::bad_frees,  &Tally::freed_clusters, &Tally::commits,         &Tally::guessed_sizes,
    &Tally::unanswered, &Tally::lost_events,    &Tally::guessed_writers,
};
static_assert(sizeof(Tally) == std::size(kTallied) * sizeof(std::uint64_t), "a member is missing");

}  // namespace

std::string_view window_name(Window window) {
  switch (window) {
    case Window::second:
      return "second";
    case Window::minute:
      return "minute";
    case Window::start:
      break;
  }
  return "start";
}

results::Outcome outcome_between(const results::Outcome& earlier, const results::Outcome& later,
                                 double seconds) {
  results::Outcome out = later;
  for (const auto member : kTallied)
    out.tally.*member -= std::min(out.tally.*member, earlier.tally.*member);
  out.searches.subtract(earlier.searches);
  out.ready_s = 0;
  out.elapsed_s = seconds;
  return out;
}

void Samples::add(std::uint64_t time_ns, std::vector<results::Outcome> columns) {
  constexpr std::size_t kKept = 61;
  std::uint64_t at = time_ns;
  if (all_.empty())
    began_ns_ = time_ns;
  else
    at = all_.back().time_ns + (time_ns - all_.back().time_ns) / kEveryNs * kEveryNs;
  all_.push_back({at, std::move(columns)});
  add_rates();
  // Drops all samples before the latest one that is at least a minute old.
  while (all_.size() > kKept || (all_.size() > 2 && all_[1].time_ns + 60 * kEveryNs <= at))
    all_.pop_front();
}

void Samples::add_rates() {
  rates_.resize(std::max(rates_.size(), all_.back().columns.size()));
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    const auto last = of(Window::second, i);
    if (!last) continue;
    Rates& rates = rates_[i].emplace_back();
    rates.requests = last->requests_per_s();
    if (const auto groups = last->searches.groups_considered())
      rates.groups = static_cast<double>(*groups) /
                     static_cast<double>(std::max<std::uint64_t>(last->tally.requests, 1));
    if (rates_[i].size() > kRates) rates_[i].pop_front();
  }
}

std::vector<Rates> Samples::rates(std::size_t column) const {
  if (column >= rates_.size()) return {};
  return {rates_[column].begin(), rates_[column].end()};
}

std::optional<results::Outcome> Samples::of(Window window, std::size_t column) const {
  if (all_.size() < 2 || column >= all_.back().columns.size()) return std::nullopt;
  const Sample& last = all_.back();
  const Sample& first = window == Window::second ? all_[all_.size() - 2] : all_.front();
  const std::uint64_t from = window == Window::start ? began_ns_ : first.time_ns;
  const double seconds = static_cast<double>(last.time_ns - from) / 1e9;
  if (window == Window::start) return outcome_between({}, last.columns[column], seconds);
  return outcome_between(first.columns[column], last.columns[column], seconds);
}

}  // namespace e4r::watch
