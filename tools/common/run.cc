// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "common/command.h"
#include "common/print_line.h"
#include "util/output.h"

namespace e4r::tools {
namespace {

std::atomic<bool> stop_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

// Removes unfinished files, then ends the program by the signal. The signal that raise() sends is
// delivered when the handler returns, because it is blocked until then.
void end_by(int number) {
  remove_unfinished();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void on_first(int /*number*/) {
  stop_wanted = true;
}

void on_each(int number) {
  if (stop_wanted.exchange(true)) end_by(number);
}

// If another process sent the signal (si_code <= 0), only asks the program to stop. After a real
// fault, restores the default action: when the handler returns, the faulting instruction runs again
// and the signal ends the program.
void on_fault(int number, siginfo_t* what, void* /*context*/) {
  if (what->si_code <= 0)
    stop_wanted = true;
  else
    ::signal(number, SIG_DFL);
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

// Whether the signal ends programs by default (signal(7)). Excludes SIGKILL, the signals of
// on_fault(), and SIGPIPE, which becomes a write error.
bool ends_programs(int number) {
  switch (number) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGUSR1:
    case SIGUSR2:
    case SIGALRM:
    case SIGTERM:
    case SIGSTKFLT:
    case SIGXCPU:
    case SIGXFSZ:  // without its default action, the write fails
    case SIGVTALRM:
    case SIGPROF:
    case SIGIO:
    case SIGPWR:
      return true;
    default:
      return number >= SIGRTMIN && number <= SIGRTMAX;
  }
}

}  // namespace

void remove_unfinished_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU, SIGXFSZ}) {
    struct sigaction action = {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = end_by;
    ::sigaction(number, &action, nullptr);
  }
}

std::atomic<bool>& wanted_by_signal() {
  static std::atomic<bool> wanted{false};
  handle(SIGUSR1, [](int /*number*/) { wanted = true; });
  return wanted;
}

// Uses a handler and not SIG_IGN, because child programs would inherit SIG_IGN.
void tell_broken_pipes() {
  handle(SIGPIPE, [](int /*number*/) {});
}

const std::atomic<bool>& stop_on_signals(SecondSignal second) {
  if (second == SecondSignal::ends_the_program) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) handle(number, on_each);
    return stop_wanted;
  }
  for (int number = 1; number <= SIGRTMAX; ++number)
    if (ends_programs(number)) handle(number, on_first);
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT}) {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    ::sigaction(number, &action, nullptr);
  }
  return stop_wanted;
}

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
