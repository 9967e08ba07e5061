// SPDX-License-Identifier: GPL-2.0-or-later
// Measures e4replay as a process on the bundled captures: the time of verify and replay, the memory
// on a 1 TiB image, and the speed of a sweep with one thread. Prints each figure with its target.
// Fails if a target is missed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "support/process.h"
#include "support/temp_dir.h"

namespace e4r {
namespace {

struct Best {
  double seconds = 1e9;
  double peak_kb = 0;
};

// Returns the fastest of several runs. All runs must succeed (verify must agree).
Best best_of(int runs, const std::vector<std::string>& argv) {
  Best best;
  for (int i = 0; i < runs; ++i) {
    const test::Outcome outcome = test::run(argv);
    if (outcome.status != 0) {
      fmt::print(stderr, "{}", outcome.err);
      std::exit(1);
    }
    best.seconds = std::min(best.seconds, outcome.seconds);
    best.peak_kb = std::max(best.peak_kb, outcome.peak_kb);
  }
  return best;
}

bool verdict(const char* what, double got, const char* unit, double target) {
  const bool met = got < target;
  fmt::print("{:<56} {:8.3f} {:<4} (target {}) {}\n", what, got, unit, target,
             met ? "met" : "MISSED");
  return met;
}

// Returns the decisions per second of a sweep that replays `requests` requests at many points with
// one thread.
double rate_of_points(const std::string& image, const std::string& trace, double requests) {
  constexpr int kPoints = 64, kRuns = 3;
  const auto seconds = [&](int points) {
    return best_of(kRuns, {E4REPLAY, "sweep", image + ":" + trace, "-p", "legacy", "--set",
                           fmt::format("mb_max_to_scan=1..{}", points), "--threads", "1"})
        .seconds;
  };
  return requests * (kPoints - 1) / (seconds(kPoints) - seconds(1));
}

int run(const std::string& traces) {
  constexpr int kRuns = 5;
  const test::TempDir dir;
  const std::string capture = traces + "/churn-1k-nodelalloc.e4c";
  const std::string churn = dir.file("churn.img");
  const std::string text = dir.file("churn.txt.zst");
  const std::string packed = dir.file("churn.e4t");
  const std::string posting = dir.file("posting.e4t");
  const std::string large = dir.file("1t");
  const auto prepare = [](const std::vector<std::string>& argv) {
    const test::Outcome outcome = test::run(argv);
    if (outcome.status != 0) fmt::print(stderr, "{}", outcome.err);
    return outcome.status == 0;
  };
  if (!prepare({E4REPLAY, "trace", "convert", capture, packed, "--image", churn}) ||
      !prepare({E4REPLAY, "trace", "convert", capture, text}) ||
      !prepare({E4REPLAY, "trace", "convert", traces + "/posting-256g.e4c", posting}) ||
      !prepare({MAKE_FRAGMENTED, large, "--size", "1T", "--min-free", "100", "--max-free", "400",
                "--min-used", "100", "--max-used", "400"}))
    return 1;
  const std::string small = traces + "/smallfiles-256g.e4c";
  bool met = true;
  met &= verdict("churn-1k-nodelalloc (154,531 requests) verified, .zst text",
                 best_of(kRuns, {E4REPLAY, "verify", churn, text}).seconds, "s", 0.6);
  met &= verdict("churn-1k-nodelalloc verified, .e4t",
                 best_of(kRuns, {E4REPLAY, "verify", churn, packed}).seconds, "s", 0.25);
  met &= verdict("smallfiles-256g replayed under legacy",
                 best_of(kRuns, {E4REPLAY, "replay", small, "-p", "legacy"}).seconds, "s", 0.5);
  met &= verdict(
      "1 TiB image, one policy: peak memory",
      best_of(1, {E4REPLAY, "replay", large, posting, "-p", "legacy", "--force"}).peak_kb / 1024,
      "MiB", 150);
  const double rate = rate_of_points(churn, packed, 154531) / 1e6;
  fmt::print("{:<56} {:8.3f} {:<4} (target {}) {}\n", "churn-1k-nodelalloc, a point of many", rate,
             "M/s", 3, rate >= 3 ? "met" : "MISSED");
  met &= rate >= 3;
  const double both =
      best_of(1, {E4REPLAY, "replay", large, posting, "-p", "legacy,cr1.5", "--force"}).peak_kb /
      1024;
  fmt::print("{:<56} {:8.3f} MiB\n", "1 TiB image, two policies at once: peak memory", both);
  return met ? 0 : 1;
}

}  // namespace
}  // namespace e4r

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: bench_replay TRACES\n");
    return 2;
  }
  return e4r::run(argv[1]);
}
