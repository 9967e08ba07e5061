// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>

namespace e4r::tools {

// After this call, a signal that ends the program first removes unfinished files
// (util/output.h). Ignored signals stay ignored.
void remove_unfinished_on_signals();

// The effect of a second signal.
enum class SecondSignal { ends_the_program, nothing };

// The flag is set by SIGINT, SIGTERM and SIGHUP from the first call on. A second signal ends the
// program normally, after removing unfinished files. With SecondSignal::nothing, which programs
// with state to restore use, every other fatal signal also sets the flag, except SIGKILL and the
// program's own faults. Then a write beyond the file size limit (SIGXFSZ) fails with an error.
[[nodiscard]] const std::atomic<bool>& stop_on_signals(
    SecondSignal second = SecondSignal::ends_the_program);

// The flag is set by each SIGUSR1 from the first call on. Call it after stop_on_signals().
[[nodiscard]] std::atomic<bool>& wanted_by_signal();

// After this call, writing to a closed pipe is an ordinary error.
void tell_broken_pipes();

}  // namespace e4r::tools
