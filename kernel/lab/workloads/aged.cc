// SPDX-License-Identifier: GPL-2.0-only
// Runs the operations of `e4replay age --write-operations` on a mounted file system.
//   aged --prepare N --dirs D DIRECTORY    makes N empty files in D directories and prints their
//                                          inode numbers
//   aged --script FILE --pid N DIRECTORY   runs the operations in FILE, in a process whose pid is
//                                          congruent to N modulo 16 (with nodelalloc, the goal of
//                                          a file's first block depends on the pid)
#include <sys/wait.h>

#include <fstream>

#include "support.h"

namespace {

std::string place(const std::string& directory, std::uint64_t slot, std::uint64_t dirs) {
  return directory + "/d" + std::to_string(slot % dirs) + "/" + std::to_string(slot);
}

void prepare(const std::string& directory, std::uint64_t files, std::uint64_t dirs) {
  for (std::uint64_t i = 0; i < dirs; ++i) {
    const std::string name = directory + "/d" + std::to_string(i);
    lab::check(mkdir(name.c_str(), 0755), name);
  }
  for (std::uint64_t slot = 0; slot < files; ++slot) {
    const std::string name = place(directory, slot, dirs);
    const int fd = static_cast<int>(lab::check(open(name.c_str(), O_CREAT | O_WRONLY, 0644), name));
    struct stat st = {};
    lab::check(fstat(fd, &st), name);
    std::printf("%llu\n", static_cast<unsigned long long>(st.st_ino));
    lab::check(close(fd), name);
  }
}

void write_more(const std::string& name, std::uint64_t bytes) {
  static const std::vector<char> kData(1 << 20, 'x');
  const int fd = static_cast<int>(lab::check(open(name.c_str(), O_WRONLY | O_APPEND), name));
  while (bytes > 0) {
    const std::size_t some = bytes < kData.size() ? bytes : kData.size();
    bytes -= static_cast<std::uint64_t>(lab::check(write(fd, kData.data(), some), name));
  }
  lab::check(close(fd), name);
}

void run(const std::string& directory, const std::string& script, std::uint64_t dirs) {
  std::ifstream file(script);
  if (!file) lab::die(script);
  const int root = static_cast<int>(lab::check(open(directory.c_str(), O_RDONLY), directory));
  char kind = 0;
  std::uint64_t slot = 0, bytes = 0, done = 0;
  for (; file >> kind; ++done) {
    if (kind == 's') {
      // Wait, because the kernel reports a commit a moment before the freed blocks become
      // available.
      lab::check(syncfs(root), "syncfs");
      usleep(2000);
      continue;
    }
    file >> slot;
    if (kind == 'r') {
      const std::string name = place(directory, slot, dirs);
      lab::check(truncate(name.c_str(), 0), name);
    } else {
      file >> bytes;
      write_more(place(directory, slot, dirs), bytes);
    }
  }
  lab::figure("operations", done);
}

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(argc, argv,
                             {{"prepare", "0"}, {"dirs", "32"}, {"script", ""}, {"pid", "0"}});
  const std::uint64_t dirs = options.number("dirs");
  if (options.number("prepare") > 0) {
    prepare(options.directory(), options.number("prepare"), dirs);
    return 0;
  }
  for (;;) {
    const pid_t child = static_cast<pid_t>(lab::check(fork(), "fork"));
    if (child == 0) {
      if (static_cast<std::uint64_t>(getpid()) % 16 != options.number("pid") % 16) return 16;
      run(options.directory(), options.text("script"), dirs);
      return 0;
    }
    int status = 0;
    lab::check(waitpid(child, &status, 0), "waitpid");
    if (!WIFEXITED(status)) return 1;
    if (WEXITSTATUS(status) != 16) return WEXITSTATUS(status);
  }
}
