// SPDX-License-Identifier: GPL-2.0-only
// Measures how long lookups in an extent status tree wait for the shrinker. DIRECTORY/delayed0 must
// have `blocks` delayed entries, made by the program `delayed`. In each of `rounds` rounds, the
// program makes `holes` reclaimable entries among them. Then one process writes 2 to drop_caches,
// and meanwhile another looks up delayed blocks at random places. Prints how long the lookups took,
// and how many entries were reclaimed. `info` is the file system's es_shrinker_info in /proc.
#include <algorithm>
#include <fstream>

#include "support.h"

namespace {

constexpr std::uint64_t kBlock = 4096;

// For a hole, this makes an entry.
void look_up(int fd, std::uint64_t block) {
  lab::extents(fd, block * kBlock, kBlock);
}

// Returns the number of reclaimable entries of the file system, as the kernel counts them.
std::uint64_t reclaimable(const std::string& info) {
  std::ifstream in(info);
  for (std::string line; std::getline(in, line);)
    if (line.find(" reclaimable objects") != std::string::npos) return std::stoull(line);
  lab::die(info);
}

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(
      argc, argv,
      {{"blocks", "131072"}, {"holes", "997"}, {"rounds", "20"}, {"seed", "1"}, {"info", ""}});
  const std::uint64_t blocks = options.number("blocks"), holes = options.number("holes");
  const std::string path = options.directory() + "/delayed0";
  const int fd = static_cast<int>(lab::check(open(path.c_str(), O_RDWR), path));
  lab::Rng rng(options.number("seed"));
  std::vector<double> took;
  double dropping = 0;
  std::uint64_t found = 0, left = 0;
  for (std::uint64_t round = 0; round < options.number("rounds"); ++round) {
    for (std::uint64_t i = 0; i < holes; ++i) look_up(fd, 2 * (i * (blocks - 1) / holes) + 1);
    found += reclaimable(options.text("info"));
    const lab::SlabDrop drop;
    while (drop.running())
      for (int i = 0; i < 16; ++i) {
        const lab::Stopwatch one;
        look_up(fd, 2 * rng.below(blocks));
        took.push_back(one.seconds());
      }
    dropping += drop.seconds();
    left += reclaimable(options.text("info"));
  }
  std::sort(took.begin(), took.end());
  // The time by which lookups took longer than the median lookup.
  double excess = 0;
  for (const double one : took) excess += std::max(0.0, one - lab::quantile(took, 0.5));
  if (left >= found) {
    std::fprintf(stderr, "eslookup: no entry was reclaimed\n");
    return 1;
  }
  const auto reclaimed = static_cast<double>(found - left);
  lab::figure("reclaimed", found - left);
  lab::figure("dropped_s", dropping);
  lab::figure("dropped_us_per_reclaimed", 1e6 * dropping / reclaimed);
  lab::figure("lookups", took.size());
  lab::figure("lookup_median_us", 1e6 * lab::quantile(took, 0.5));
  lab::figure("lookup_p99_us", 1e6 * lab::quantile(took, 0.99));
  lab::figure("lookup_p999_us", 1e6 * lab::quantile(took, 0.999));
  lab::figure("lookup_max_us", 1e6 * lab::quantile(took, 1));
  lab::figure("lookup_excess_ms", 1e3 * excess);
  lab::figure("lookup_excess_us_per_reclaimed", 1e6 * excess / reclaimed);
  return 0;
}
