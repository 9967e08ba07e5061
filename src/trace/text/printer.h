// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "trace/event.h"

namespace e4r::trace {

// Appends the header of an ftrace text.
void print_ftrace_header(std::string& out);

// Appends an event as ftrace prints it, with "<...>" as the task's name and six digits of time, or
// nine if needed. Reading it back gives the same event, except for the time of a lost_events
// marker, which ftrace does not print.
void print_ftrace_event(std::string& out, const Event& event, Generation generation);

}  // namespace e4r::trace
