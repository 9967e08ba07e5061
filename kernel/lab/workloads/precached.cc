// SPDX-License-Identifier: GPL-2.0-only
// Measures waits for the lock of the extent status shrinker's list of inodes. Makes `files` files
// and precaches their extents. The shrinker skips these files as long as it finds others. While the
// shrinker works (started by one write to drop_caches), the program repeatedly creates and removes
// the first reclaimable entry of another file. This puts the inode on the list and takes it off
// again. Prints how long the creations took.
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>

#include "support.h"

namespace {

constexpr unsigned long kPrecacheExtents = _IO('f', 18);  // EXT4_IOC_PRECACHE_EXTENTS

std::vector<int> precached(const std::string& directory, std::uint64_t files) {
  const rlimit limit{files + 100, files + 100};
  lab::check(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
  std::vector<int> out;
  const std::vector<char> data(4096, 'x');
  for (std::uint64_t i = 0; i < files; ++i) {
    const std::string path = directory + "/" + std::to_string(i);
    out.push_back(static_cast<int>(lab::check(open(path.c_str(), O_CREAT | O_RDWR, 0644), path)));
    // Precaching needs more than four extents, because four fit into the inode.
    for (off_t at = 0; at < 5 * 8192; at += 8192)
      if (lab::check(pwrite(out.back(), data.data(), data.size(), at), path) != 4096)
        lab::die(path + ": short write");
  }
  sync();
  for (const int fd : out) lab::check(ioctl(fd, kPrecacheExtents), "EXT4_IOC_PRECACHE_EXTENTS");
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(argc, argv, {{"files", "8000"}});
  const std::vector<int> held = precached(options.directory(), options.number("files"));
  const std::string path = options.directory() + "/hole";
  const int fd = static_cast<int>(lab::check(open(path.c_str(), O_CREAT | O_RDWR, 0644), path));
  const lab::SlabDrop drop;
  std::vector<double> took;
  char block[4096];
  while (drop.running()) {
    lab::check(ftruncate(fd, 1 << 20), path);
    const lab::Stopwatch one;
    lab::check(pread(fd, block, sizeof block, 8192), path);  // reading a hole makes an entry
    took.push_back(one.seconds());
    lab::check(ftruncate(fd, 0), path);
  }
  const double dropped_s = drop.seconds();
  std::sort(took.begin(), took.end());
  lab::figure("dropped_s", dropped_s);
  lab::figure("inserts", took.size());
  lab::figure("insert_median_us", 1e6 * lab::quantile(took, 0.5));
  lab::figure("insert_p99_us", 1e6 * lab::quantile(took, 0.99));
  lab::figure("insert_max_us", 1e6 * lab::quantile(took, 1));
  return 0;
}
