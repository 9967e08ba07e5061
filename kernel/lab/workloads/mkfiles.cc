// SPDX-License-Identifier: GPL-2.0-only
// Writes many small files: each of N threads or processes writes its share of `files` files of
// `kib` KiB. Writer T uses the directory DIRECTORY/tT; with --together 1, all writers use
// DIRECTORY/t0. Prints the time with and without the sync at the end, and the rate without the
// sync.
#include <algorithm>

#include "support.h"

int main(int argc, char** argv) {
  const lab::Options options(argc, argv,
                             {{"threads", "1"},
                              {"processes", "0"},
                              {"together", "0"},
                              {"files", "1000"},
                              {"kib", "64"},
                              {"seed", "1"},
                              {"fsync", "0"}});
  const std::uint64_t processes = options.number("processes");
  const std::uint64_t writers =
      std::max<std::uint64_t>(processes > 0 ? processes : options.number("threads"), 1);
  const std::uint64_t files = options.number("files");
  const bool sync_each = options.number("fsync") != 0;
  const bool together = options.number("together") != 0;
  std::vector<char> data(options.number("kib") << 10);
  lab::Rng rng(options.number("seed"));
  for (char& byte : data) byte = static_cast<char>(rng.next());

  const auto make_home = [&](std::uint64_t writer) {
    const std::string home = options.directory() + "/t" + std::to_string(writer);
    lab::check(mkdir(home.c_str(), 0755), home);
    return home;
  };
  const lab::Stopwatch clock;
  const std::string shared = together ? make_home(0) : "";
  const auto write_share = [&](std::uint64_t writer) {
    const std::string home = together ? shared : make_home(writer);
    for (std::uint64_t i = writer; i < files; i += writers) {
      const std::string path = home + "/" + std::to_string(i);
      const int fd =
          static_cast<int>(lab::check(open(path.c_str(), O_CREAT | O_WRONLY, 0644), path));
      const long written = lab::check(write(fd, data.data(), data.size()), path);
      if (written != static_cast<long>(data.size())) lab::die(path + ": short write");
      if (sync_each) lab::check(fsync(fd), path);
      lab::check(close(fd), path);
    }
  };
  if (processes > 0)
    lab::in_processes(processes, write_share);
  else
    lab::in_threads(writers, write_share);
  const double write_s = clock.seconds();
  lab::figure("write_s", write_s);
  lab::figure("files_per_s", static_cast<double>(files) / write_s);
  sync();
  lab::figure("elapsed_s", clock.seconds());
  lab::figure("files", files);
  return 0;
}
