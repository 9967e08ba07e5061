// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <functional>

namespace e4r {

// `requested`, or the number of CPUs this process may use when that is 0. At least 1.
[[nodiscard]] unsigned thread_count(unsigned requested);

// Runs work(0) ... work(count - 1), each once, on at most `threads` threads, including the
// caller's. Starts them in ascending order and returns when all are done. If a call throws, no
// further calls start, and the first exception is rethrown here.
void parallel_for(unsigned threads, std::size_t count,
                  const std::function<void(std::size_t)>& work);

}  // namespace e4r
