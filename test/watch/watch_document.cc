// SPDX-License-Identifier: GPL-2.0-or-later
// Prints a document of `e4replay watch`. Its figures come from a model that follows a made-up
// trace.
//   watch_document [none | prometheus | openmetrics]
// With "none", prints a document before there are figures. With "prometheus" or "openmetrics",
// prints the metrics in that format, for a mount point with a hostile name.
#include <boost/json.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "json/text.h"
#include "watch/document.h"
#include "watch/half_seen.h"
#include "watch/metrics.h"
#include "watch/pursuit.h"

namespace e4r::test {
namespace {

// Returns hostile names for processes and files.
class HostileNames final : public watch::Names {
 public:
  std::string process(std::uint32_t /*pid*/) override { return "a \"b\" \\ \x1b\xff"; }
  std::string file(std::uint64_t ino) override {
    return ino % 2 == 0 ? "" : "/data/\n\x1b[2J\xff\xc3\xa4\xe2\x80\xae";
  }
};

std::string metrics_of(watch::Report report, watch::Exposition format) {
  report.mount_point = "/data \"a\" \\b\n{c=\"\xc3\xa4\"} \xff";
  report.starts = 1;
  report.keeps = watch::Report::Keeps{.held = {}, .files = 0, .last_file = {}};
  watch::Metrics metrics("1.2.3");
  metrics.add(report);
  return exposition(metrics.families(), format);
}

int print(std::string_view what) {
  const HalfSeen half("linux-7.3");
  watch::Report report;
  report.time = "2026-01-02T03:04:05Z";
  report.kernel = "7.3.0";
  report.device = "8:1";
  report.device_name = "sda1";
  report.mount_point = "/data";
  report.notes = {"something happened"};
  watch::StartPoint start = half.start(true);
  start.shadows = {allocator::find_policy("linux-6.12")};
  const auto follower = watch::Follower::create(start);
  std::vector<trace::Event> events(half.events().begin(), half.events().end());
  for (std::size_t i = 0; i < events.size(); ++i) events[i].time_ns = i * 5'000'000;
  watch::Backlog backlog;
  backlog.add(events, events.back().time_ns);
  backlog.end();
  if (follower->run(backlog, UINT64_MAX, 1 << 20) != watch::Follower::End::over) return 1;
  if (what != "none") report.lazy_init = {.groups_left = 5, .runs = true, .groups_per_s = 2.5};
  if (what != "none") report.picture = follower->picture();
  HostileNames names;
  const std::string text = what == "prometheus" ? metrics_of(report, watch::Exposition::prometheus)
                           : what == "openmetrics"
                               ? metrics_of(report, watch::Exposition::openmetrics)
                               : json_line(watch::report_json(report, &names)) + "\n";
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}

}  // namespace
}  // namespace e4r::test

int main(int argc, char** argv) {
  return e4r::test::print(argc < 2 ? "" : argv[1]);
}
