// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>

namespace e4r::state {
class FsState;
}

namespace e4r::replay {

// Called after a decision of that number, with the state as it is then.
using Watch = std::function<void(std::uint64_t decision, const state::FsState& state)>;

}  // namespace e4r::replay
