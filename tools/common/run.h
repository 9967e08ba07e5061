// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>

// How every program runs, and how it ends.
namespace e4r::tools {

// Runs the body of main. An exception (out of memory, a failing stream) becomes one line on stderr.
// Closed standard streams are opened on /dev/null. Otherwise an image could get such a descriptor,
// and output would overwrite it. A signal that ends the program first removes unfinished files. If
// output could not be written, prints an error and turns success into failure.
[[nodiscard]] int run_guarded(const char* name, int (*body)(int argc, char** argv), int argc,
                              char** argv);

// After this call, a signal that ends the program first removes unfinished files
// (util/output.h). Ignored signals stay ignored.
void remove_unfinished_on_signals();

// The effect of a second signal.
enum class SecondSignal { ends_the_program, nothing };

// Returns a flag that SIGINT, SIGTERM and SIGHUP set from the first call on. A second signal ends
// the program as usual, after removing unfinished files. SecondSignal::nothing is for programs with
// state to restore: then every other fatal signal sets the flag, too, except SIGKILL and signals
// for the program's own faults, and a write beyond the file size limit (SIGXFSZ) fails with an
// error.
[[nodiscard]] const std::atomic<bool>& stop_on_signals(
    SecondSignal second = SecondSignal::ends_the_program);

// Returns a flag that each SIGUSR1 sets from the first call on. Call it after stop_on_signals().
[[nodiscard]] std::atomic<bool>& wanted_by_signal();

// After this call, writing to a closed pipe is an ordinary error.
void tell_broken_pipes();

}  // namespace e4r::tools
