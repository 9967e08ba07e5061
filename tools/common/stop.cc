// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/stop.h"

#include <csignal>

namespace e4r::tools {
namespace {

std::atomic<bool> stop_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void on_signal(int /*number*/) {
  stop_wanted = true;
}

}  // namespace

const std::atomic<bool>& stop_on_signals(SecondSignal second) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  if (second == SecondSignal::ends_the_program) action.sa_flags |= static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  return stop_wanted;
}

}  // namespace e4r::tools
