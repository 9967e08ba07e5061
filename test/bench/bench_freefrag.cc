// SPDX-License-Identifier: GPL-2.0-or-later
// Compares freefrag and e2freefrag as processes on the same images, with warm caches. Also measures
// the library alone.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "report/free_space.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace e4r {
namespace {

constexpr double kWantedRatio = 20;
constexpr double kMost16TiBSeconds = 1;
constexpr double kMostKb = 64 * 1024;  // permitted peak memory: freefrag must not keep all bitmaps

// The results of several runs of one command.
struct Best {
  double seconds = 1e9;
  double peak_kb = 0;
};
std::map<std::string, Best>& results() {
  static std::map<std::string, Best> all;
  return all;
}

// Makes the image in a child process, so that this process stays small: a child's peak memory
// includes the memory of its parent at the start.
bool make_image(const std::string& path, const std::string& size) {
  const auto made = test::run({MAKE_FRAGMENTED, path, "--size", size, "--min-free", "40",
                               "--max-free", "160", "--min-used", "100", "--max-used", "506",
                               "--mke2fs=-t ext4 -b 4096 -O ^has_journal"});
  if (made.status != 0) fmt::print(stderr, "{}", made.err);
  return made.status == 0;
}

void run_command(benchmark::State& state, const std::string& name,
                 const std::vector<std::string>& argv) {
  Best& best = results()[name];
  for (auto _ : state) {
    const test::Outcome outcome = test::run(argv);
    if (outcome.status != 0) return state.SkipWithError(outcome.err.c_str());
    best.seconds = std::min(best.seconds, outcome.seconds);
    best.peak_kb = std::max(best.peak_kb, outcome.peak_kb);
  }
  state.counters["best_ms"] = best.seconds * 1e3;
  state.counters["peak_MiB"] = best.peak_kb / 1024;
}

void run_library(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    auto image = image::Image::open(path, {.load_bitmaps = false});
    if (!image.ok()) return state.SkipWithError(image.error().message.c_str());
    const auto free = report::measure_free_space(*image, 8, false);
    benchmark::DoNotOptimize(free->extents.count);
    state.counters["extents"] = static_cast<double>(free->extents.count);
  }
}

void run_load(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    const auto image = image::Image::open(path);
    if (!image.ok()) return state.SkipWithError(image.error().message.c_str());
    benchmark::DoNotOptimize(image->bitmap(0).data());
  }
}

template <class Function, class Argument>
benchmark::internal::Benchmark* declare(const std::string& name, Function function,
                                        const Argument& argument) {
  return benchmark::RegisterBenchmark(name.c_str(), function, argument)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

benchmark::internal::Benchmark* declare_command(const std::string& name,
                                                const std::vector<std::string>& argv) {
  const auto measure = [name](benchmark::State& state, const std::vector<std::string>& command) {
    run_command(state, name, command);
  };
  return declare(name, measure, argv);
}

struct Subject {
  std::string size;
  std::string path;
};

// Measures the commands first. Otherwise their measured memory would include memory that the
// library has allocated in this process.
void declare_all(const std::vector<Subject>& subjects) {
  for (const auto& [size, path] : subjects) {
    declare_command("freefrag/" + size, {E4REPLAY, "freefrag", path});
    declare_command("freefrag_1_thread/" + size, {E4REPLAY, "freefrag", "--threads", "1", path});
  }
  const auto& [size, path] = subjects.front();
  declare_command("e2freefrag/" + size, {"e2freefrag", path})->Iterations(5);
  for (const Subject& subject : subjects) {
    declare("library/" + subject.size, run_library, subject.path);
    declare("load_bitmaps/" + subject.size, run_load, subject.path);
  }
}

bool same_text(const std::string& path) {
  return test::run({E4REPLAY, "freefrag", path}).out == test::run({"e2freefrag", path}).out;
}

bool verdict(const char* what, double got, const char* unit, double target, bool met) {
  fmt::print("{:<44} {:8.2f} {:<4} (target {}) {}\n", what, got, unit, target,
             met ? "met" : "MISSED");
  return met;
}

// Returns 0 if every measured target is met.
int judge() {
  bool met = true;
  const auto& all = results();
  if (all.contains("freefrag/1TiB") && all.contains("e2freefrag/1TiB")) {
    const double ratio = all.at("e2freefrag/1TiB").seconds / all.at("freefrag/1TiB").seconds;
    met &= verdict("1 TiB: times faster than e2freefrag", ratio, "x", kWantedRatio,
                   ratio >= kWantedRatio);
  }
  if (all.contains("freefrag/16TiB")) {
    const double seconds = all.at("freefrag/16TiB").seconds;
    met &= verdict("16 TiB", seconds, "s", kMost16TiBSeconds, seconds < kMost16TiBSeconds);
  }
  for (const auto& [name, best] : all)
    if (name.starts_with("freefrag/"))
      met &= verdict((name + ": peak memory").c_str(), best.peak_kb / 1024, "MiB", kMostKb / 1024,
                     best.peak_kb <= kMostKb);
  return met ? 0 : 1;
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const test::TempDir dir;
  std::vector<Subject> subjects = {{"1TiB", dir.file("1t")}};
  if (!make_image(subjects[0].path, "1T")) return 1;
  if (make_image(dir.file("16t"), "17592186040320"))
    subjects.push_back({"16TiB", dir.file("16t")});
  else
    fmt::print("no room for a 16 TiB image here: left out\n");
  declare_all(subjects);
  if (!same_text(subjects[0].path)) {
    fmt::print(stderr, "bench_freefrag: the texts differ\n");
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return judge();
}

}  // namespace
}  // namespace e4r

int main(int argc, char** argv) {
  return e4r::run(argc, argv);
}
