// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>
#include <vector>

namespace e4r::allocator {
struct Policy;
}
namespace e4r::trace {
struct TraceSummary;
}

namespace e4r::replay {

// The policies that may be the recorded kernel's: first the policies that stand for its release,
// then those of long-term kernels, then the others. Each of these parts begins with the latest
// rules. Empty if no policy models the kernel.
[[nodiscard]] std::vector<const allocator::Policy*> candidate_policies(
    const trace::TraceSummary& trace, std::string_view release);

// The policy of the first long-term kernel.
[[nodiscard]] const allocator::Policy* default_policy();

}  // namespace e4r::replay
