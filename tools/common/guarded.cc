// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guarded.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "common/command.h"
#include "common/print_line.h"
#include "common/stop.h"

namespace e4r::tools {
namespace {

// Makes sure that files opened later get no descriptor below 3. Opens /dev/null in place of each
// closed stream, but in the wrong direction: reading or writing the stream then fails, and no data
// is lost silently.
void fill_standard_descriptors() {
  int fd = 0;
  do fd = ::open("/dev/null", ::fcntl(STDIN_FILENO, F_GETFD) < 0 ? O_WRONLY : O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) ::close(fd);
}

}  // namespace

int run_guarded(const char* name, int (*body)(int argc, char** argv), int argc, char** argv) {
  fill_standard_descriptors();
  remove_unfinished_on_signals();
  int status = kFailed;
  try {
    status = body(argc, argv);
  } catch (const std::bad_alloc&) {
    print_line(stderr, "{}: out of memory: raise the limit (ulimit -v), or give a smaller input",
               name);
    return kFailed;
  } catch (const std::exception& e) {
    print_line(stderr, "{}: {}", name, e.what());
    return kFailed;
  }
  if (status == kFailed || status == kUsage) return status;  // the message has already been printed
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed_before) return status;
  const int error = write_error() != 0 ? write_error() : errno;
  print_line(stderr, "{}: cannot write standard output: {}", name,
             error != 0 ? std::strerror(error) : "an earlier write failed");
  return kFailed;
}

}  // namespace e4r::tools
