// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>

namespace e4r::tools {

// From here on, a signal that ends the program first removes the files that it has not finished
// (util/unfinished.h). Signals that are ignored stay so.
void remove_unfinished_on_signals();

// What a second signal does.
enum class SecondSignal { ends_the_program, nothing };

// Set by SIGINT, SIGTERM and SIGHUP from the first call on. A second signal ends the program as it
// would have without, unfinished files removed. Where it does nothing, because there are things to
// put back, every other signal that would end the program sets it too, apart from SIGKILL and
// faults of the program's own. A write to a file that may not grow (SIGXFSZ) is an error then.
[[nodiscard]] const std::atomic<bool>& stop_on_signals(
    SecondSignal second = SecondSignal::ends_the_program);

// From here on, writing to a pipe that nobody reads any more is an error like any other.
void tell_broken_pipes();

}  // namespace e4r::tools
