// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Marks the symbols that the shared library exports.
#if defined(__GNUC__)
#define E4REPLAY_API __attribute__((visibility("default")))
#else
#define E4REPLAY_API
#endif
