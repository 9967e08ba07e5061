// SPDX-License-Identifier: GPL-2.0-only
// Measures the first allocations after a mount. `--step prepare` makes `dirs` directories, each
// with a file `before` of one block and an empty file `file`. After the file system was mounted
// again, `--step allocate` opens all files, and then allocates `kib` KiB for each file `file`. It
// prints how long this took, in how many block groups the files `before` are, and how many files
// `file` begin in the group of their neighbor `before`.
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>

#include "support.h"

namespace {

int open_file(const lab::Options& options, std::uint64_t i, const char* name, int flags) {
  const std::string path = options.directory() + "/" + std::to_string(i) + "/" + name;
  return static_cast<int>(lab::check(open(path.c_str(), flags, 0644), path));
}

std::uint64_t first_block(int fd) {
  fiemap_extent first = {};
  if (lab::extents(fd, 0, ~0ull, &first) != 1) lab::die("a file without blocks");
  return first.fe_physical / 4096;
}

void prepare(const lab::Options& options) {
  for (std::uint64_t i = 0; i < options.number("dirs"); ++i) {
    const std::string path = options.directory() + "/" + std::to_string(i);
    lab::check(mkdir(path.c_str(), 0755), path);
    const int before = open_file(options, i, "before", O_CREAT | O_RDWR);
    lab::check(fallocate(before, 0, 0, 4096), "fallocate");
    close(before);
    close(open_file(options, i, "file", O_CREAT | O_RDWR));
  }
}

void allocate(const lab::Options& options) {
  const std::uint64_t dirs = options.number("dirs");
  const std::uint64_t processes = std::max<std::uint64_t>(options.number("processes"), 1);
  const rlimit limit{2 * dirs + 100, 2 * dirs + 100};
  lab::check(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
  std::vector<int> before, files;
  for (std::uint64_t i = 0; i < dirs; ++i) {
    before.push_back(open_file(options, i, "before", O_RDONLY));
    files.push_back(open_file(options, i, "file", O_RDWR));
  }
  // Memory that the processes share, for the time of each allocation.
  void* const shared = mmap(nullptr, dirs * sizeof(double), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) lab::die("mmap");
  auto* const took = static_cast<double*>(shared);
  const lab::Stopwatch clock;
  lab::in_processes(processes, [&](std::uint64_t process) {
    for (std::uint64_t i = process; i < dirs; i += processes) {
      const lab::Stopwatch one;
      lab::check(fallocate(files[i], 0, 0, static_cast<off_t>(options.number("kib")) << 10),
                 "fallocate");
      took[i] = one.seconds();
    }
  });
  const double seconds = clock.seconds();
  std::uint64_t home = 0;
  std::set<std::uint64_t> groups;
  const std::uint64_t per_group = options.number("per-group");
  for (std::uint64_t i = 0; i < dirs; ++i) {
    const std::uint64_t group = first_block(before[i]) / per_group;
    groups.insert(group);
    if (first_block(files[i]) / per_group == group) ++home;
  }
  std::sort(took, took + dirs);
  lab::figure("allocate_s", seconds);
  lab::figure("allocate_median_us", 1e6 * took[dirs / 2]);
  lab::figure("allocate_p99_us", 1e6 * took[dirs * 99 / 100]);
  lab::figure("allocate_max_us", 1e6 * took[dirs - 1]);
  lab::figure("groups", groups.size());
  lab::figure("in_the_group", home);
}

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(argc, argv,
                             {{"step", "prepare"},
                              {"dirs", "400"},
                              {"processes", "1"},
                              {"kib", "64"},
                              {"per-group", "32768"}});
  const std::string& step = options.text("step");
  if ((step != "prepare" && step != "allocate") || options.number("dirs") == 0 ||
      options.number("per-group") == 0) {
    std::fprintf(stderr, "%s: --step is prepare or allocate; numbers are not 0\n", argv[0]);
    return 2;
  }
  if (step == "prepare")
    prepare(options);
  else
    allocate(options);
  return 0;
}
