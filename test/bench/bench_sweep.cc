// SPDX-License-Identifier: GPL-2.0-or-later
// Measures sweeps of a bundled capture: the speed of two threads relative to one thread, and the
// memory when many points run at once. Prints each figure with its target. Fails if a target is
// missed.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "support/process.h"

namespace e4r {
namespace {

struct Took {
  double seconds = 0;
  double cpu_s = 0;  // of all threads
  double peak_kb = 0;
};

double cpu_of_children() {
  rusage usage = {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Took measured(const std::vector<std::string>& argv) {
  const double before = cpu_of_children();
  const test::Outcome outcome = test::run(argv);
  if (outcome.status != 0) {
    fmt::print(stderr, "{}", outcome.err);
    std::exit(1);
  }
  return {outcome.seconds, cpu_of_children() - before, outcome.peak_kb};
}

// Returns the command for `points` different points, beginning with number `first`.
std::vector<std::string> words(const std::string& capture, int first, int points, int threads) {
  return {E4REPLAY,
          "sweep",
          capture,
          "-p",
          "legacy",
          "--set",
          fmt::format("mb_max_to_scan={}..{}", first, first + points - 1),
          "--threads",
          std::to_string(threads)};
}
Took sweep(const std::string& capture, int points, int threads) {
  return measured(words(capture, 1, points, threads));
}

// Runs two processes at once, each with half of the points and one thread. Their speed is the best
// that two threads could reach under the present load of this machine.
Took two_processes(const std::string& capture, int points) {
  std::string script;
  for (const int first : {1, 1 + points / 2}) {
    for (const std::string& word : words(capture, first, points / 2, 1))
      script += "'" + word + "' ";
    script += ">/dev/null & ";
  }
  return measured({"sh", "-c", script + "wait"});
}

double median(std::vector<double> of) {
  std::ranges::sort(of);
  return of[of.size() / 2];
}

bool verdict(const char* what, double got, const char* unit, bool met, const char* target) {
  fmt::print("{:<58} {:8.3f} {:<4} (target {}) {}\n", what, got, unit, target,
             met ? "met" : "MISSED");
  return met;
}

bool speed(const std::string& capture, int runs) {
  constexpr int kPoints = 64;
  std::vector<double> rate_one, rate_two, faster, of_ideal, dearer;
  for (int i = 0; i < runs; ++i) {
    const Took one = sweep(capture, kPoints, 1);
    const Took two = sweep(capture, kPoints, 2);
    const Took ideal = two_processes(capture, kPoints);
    rate_one.push_back(kPoints / one.seconds);
    rate_two.push_back(kPoints / two.seconds);
    faster.push_back(one.seconds / two.seconds);
    of_ideal.push_back(ideal.seconds / two.seconds);
    dearer.push_back(two.cpu_s / one.cpu_s);
  }
  fmt::print("{:<58} {:8.1f} points/s\n", "one thread", median(rate_one));
  fmt::print("{:<58} {:8.1f} points/s\n", "two threads", median(rate_two));
  fmt::print("{:<58} {:8.3f} x\n", "two threads against one", median(faster));
  bool met = verdict("two threads against two processes with half each", median(of_ideal), "x",
                     median(of_ideal) >= 0.9, "at least 0.9");
  met &= verdict("CPU time of two threads against that of one", median(dearer), "x",
                 median(dearer) <= 1.1, "at most 1.1");
  return met;
}

bool memory(const std::string& capture) {
  constexpr int kMany = 64;
  const Took one = sweep(capture, 1, 1);
  const Took many = sweep(capture, kMany, kMany);
  const double more = (many.peak_kb - one.peak_kb) / (kMany - 1);
  fmt::print("{:<58} {:8.1f} MiB\n", "one point: peak memory", one.peak_kb / 1024);
  fmt::print("{:<58} {:8.1f} MiB, {:.1f} x\n", "64 points at once", many.peak_kb / 1024,
             many.peak_kb / one.peak_kb);
  fmt::print("{:<58} {:8.1f} MiB\n", "each point more", more / 1024);
  return verdict("each point more against a process of its own", more / one.peak_kb, "x",
                 more < 0.25 * one.peak_kb, "below 0.25");
}

}  // namespace
}  // namespace e4r

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: bench_sweep CAPTURE [RUNS]\n");
    return 2;
  }
  const std::string capture = argv[1];
  const bool fast = e4r::speed(capture, argc == 3 ? std::max(1, std::atoi(argv[2])) : 5);
  return e4r::memory(capture) && fast ? 0 : 1;
}
