// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/stop.h"

#include <csignal>

#include "util/unfinished.h"

namespace e4r::tools {
namespace {

std::atomic<bool> stop_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

// The signal stays blocked until the handler returns, and ends the program then.
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

}  // namespace

void remove_unfinished_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU, SIGXFSZ}) {
    struct sigaction action = {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = end_by;
    ::sigaction(number, &action, nullptr);
  }
}

// A handler, and not SIG_IGN, which programs that are started would inherit.
void tell_broken_pipes() {
  struct sigaction action = {};
  action.sa_handler = [](int /*number*/) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &action, nullptr);
}

const std::atomic<bool>& stop_on_signals(SecondSignal second) {
  struct sigaction action = {};
  action.sa_handler = second == SecondSignal::ends_the_program ? on_each : on_first;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  return stop_wanted;
}

}  // namespace e4r::tools
