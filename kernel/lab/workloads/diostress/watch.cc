// SPDX-License-Identifier: GPL-2.0-only
#include "watch.h"

#include <sys/wait.h>

#include <csignal>

#include "../support.h"

namespace dio {

int watched(double seconds, const std::string& name, const std::function<int()>& work) {
  const auto child = static_cast<pid_t>(lab::check(fork(), "fork"));
  if (child == 0) std::exit(work());
  const lab::Stopwatch clock;
  int status = 0;
  while (lab::check(waitpid(child, &status, WNOHANG), "waitpid") == 0) {
    if (clock.seconds() >= seconds) {
      std::fprintf(stderr,
                   "diostress: %s: expected an end, found threads that wait, after %.2f s\n",
                   name.c_str(), clock.seconds());
      kill(child, SIGKILL);
      return 1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "diostress: %s: ended by signal %d\n", name.c_str(), WTERMSIG(status));
  return 1;
}

}  // namespace dio
