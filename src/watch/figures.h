// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/accounts.h"
#include "results/outcome.h"

namespace e4r::watch {

// The periods over which figures are counted. All end at the same moment.
enum class Window : std::uint8_t { second, minute, start };
inline constexpr std::array kWindows = {Window::second, Window::minute, Window::start};
[[nodiscard]] std::string_view window_name(Window window);

// The counts of `later` minus the counts of `earlier`. Everything else (free space, files) is as in
// `later`. `seconds` is the length of the period, for Outcome::requests_per_s().
[[nodiscard]] results::Outcome outcome_between(const results::Outcome& earlier,
                                               const results::Outcome& later, double seconds);

// Rates of one second.
struct Rates {
  double requests = 0;           // per second
  std::optional<double> groups;  // groups considered per request, 0 if there was no request; empty
                                 // if unknown
};

// The counts of several runs that proceed in parallel, for each second of the trace. Keeps the
// counts of the last minute.
class Samples {
 public:
  struct Sample {
    std::uint64_t time_ns = 0;
    std::vector<results::Outcome> columns;  // counts_of() of each run
  };
  static constexpr std::uint64_t kEveryNs = 1'000'000'000;

  // Whether a sample is due before an operation at that time. The first one is due at once.
  [[nodiscard]] bool due(std::uint64_t time_ns) const {
    return all_.empty() || time_ns >= all_.back().time_ns + kEveryNs;
  }
  // Adds a sample for the last whole second before `time_ns`.
  void add(std::uint64_t time_ns, std::vector<results::Outcome> columns);
  // The rates of a column in the last kRates seconds, the oldest first.
  static constexpr std::size_t kRates = 300;
  [[nodiscard]] std::vector<Rates> rates(std::size_t column) const;
  // The time of the last sample, or 0 without samples.
  [[nodiscard]] std::uint64_t last_ns() const { return all_.empty() ? 0 : all_.back().time_ns; }

  // A column's figures over the window. Nothing if there are fewer than two samples or the column
  // is new.
  [[nodiscard]] std::optional<results::Outcome> of(Window window, std::size_t column) const;

 private:
  void add_rates();

  std::deque<Sample> all_;
  std::vector<std::deque<Rates>> rates_;  // by column
  std::uint64_t began_ns_ = 0;
};

// Counts requests by the number of groups that their searches considered, if it is known.
class GroupHistogram final : public replay::Account {
 public:
  // Bucket 0 holds requests that considered no group. Bucket i holds requests that considered more
  // than bound(i - 1) and at most bound(i) groups. The last bucket has no upper bound.
  static constexpr std::size_t kBuckets = 19;
  [[nodiscard]] static constexpr std::uint64_t bound(std::size_t bucket) {
    return bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1);
  }
  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t groups) {
    if (groups == 0) return 0;
    return std::min<std::size_t>(1 + static_cast<std::size_t>(std::bit_width(groups - 1)),
                                 kBuckets - 1);
  }

  struct Counts {
    std::array<std::uint64_t, kBuckets> requests = {};  // by bucket
    std::uint64_t groups = 0;                           // of all requests
    void add(std::uint64_t considered) {
      ++requests[bucket_of(considered)];
      groups += considered;
    }
  };

  bool decided(const replay::Decided& one) override {
    if (const auto groups = meter_.take(one).groups) counts_.add(*groups);
    return true;
  }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  replay::SearchMeter meter_;
  Counts counts_;
};

}  // namespace e4r::watch
