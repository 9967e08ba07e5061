// SPDX-License-Identifier: GPL-2.0-only
#include "stress.h"

#include <algorithm>

namespace dio {
namespace {

constexpr const char* kNames[] = {"writes_sync",
                                  "writes_aio",
                                  "writes_uring",
                                  "writes_sub_block",
                                  "writes_shared",
                                  "extends",
                                  "nowait_refused",
                                  "write_errors",
                                  "read_errors",
                                  "bytes_written",
                                  "conflicts",
                                  "buffered_writes",
                                  "mapped_stores",
                                  "punches",
                                  "zero_ranges",
                                  "fallocates",
                                  "grows",
                                  "truncates",
                                  "reads",
                                  "sectors_read",
                                  "sectors_verified",
                                  "sectors_ambiguous",
                                  "sectors_exposed",
                                  "rounds",
                                  "failures"};
static_assert(std::size(kNames) == static_cast<unsigned>(Count::last));

constexpr std::uint64_t kLines = 10;         // printed failures
constexpr std::uint64_t kStepsPerSpot = 40;  // number of steps before writes move to another spot

}  // namespace

lab::Rng generator(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t state = seed;
  for (const std::uint64_t word : {a, b, c}) state = lab::Rng(state ^ word * 0x9e3779b9).next();
  return lab::Rng(state);
}

Stress::Stress(const lab::Options& options)
    : targets(std::max<std::size_t>(options.number("files"), 1)),
      seed_(options.number("seed")),
      seconds_(static_cast<double>(options.number("seconds"))),
      tails_(static_cast<unsigned>(options.number("tails"))) {}

std::uint32_t Stress::hot_sector(const Target& target) const {
  const std::uint32_t size = std::max(target.model->size(), 1u);
  lab::Rng rng =
      generator(target.seed, 0x407, steps_.load(std::memory_order_relaxed) / kStepsPerSpot);
  // One spot in four is the end of the file.
  if (rng.percent(25)) return size - 1;
  return static_cast<std::uint32_t>(rng.below(size));
}

bool Stress::over() const {
  return count(Count::failures) > 0 || (seconds_ > 0 && elapsed() >= seconds_);
}

void Stress::report(const Target& target, const std::string& when, const Violation& violation) {
  const std::lock_guard lock(print_);
  add(Count::failures);
  if (count(Count::failures) > kLines) return;
  const std::uint32_t per_block = target.model->sectors_per_block();
  std::fprintf(stderr,
               "diostress: %s: %s: sector %u (block %u of %u bytes, its sector %u): expected %s, "
               "found %s; with it: %s; seed %llu round %llu, after %.2f s\n",
               target.path.c_str(), when.c_str(), violation.sector, violation.sector / per_block,
               block_size, violation.sector % per_block, violation.expected.c_str(),
               violation.found.c_str(), violation.around.c_str(),
               static_cast<unsigned long long>(seed_), static_cast<unsigned long long>(round),
               elapsed());
}

void Stress::unexpected(const Target& target, const std::string& what, long result) {
  const std::lock_guard lock(print_);
  add(Count::failures);
  if (count(Count::failures) > kLines) return;
  std::fprintf(stderr, "diostress: %s: %s: %ld (%s); seed %llu round %llu, after %.2f s\n",
               target.path.c_str(), what.c_str(), result,
               result < 0 ? std::strerror(static_cast<int>(-result)) : "bytes",
               static_cast<unsigned long long>(seed_), static_cast<unsigned long long>(round),
               elapsed());
}

void Stress::figures() const {
  for (unsigned i = 0; i < static_cast<unsigned>(Count::last); ++i)
    lab::figure(kNames[i], count(static_cast<Count>(i)));
  const std::uint64_t all =
      count(Count::writes_sync) + count(Count::writes_aio) + count(Count::writes_uring);
  lab::figure("writes", all);
  if (all > 0)
    lab::figure("sub_block_percent",
                100.0 * static_cast<double>(count(Count::sub_block)) / static_cast<double>(all));
  lab::figure("elapsed_s", elapsed());
}

}  // namespace dio
