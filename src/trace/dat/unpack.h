// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace e4r::trace::dat {

// How parts of a recording are compressed.
enum class Packing : std::uint8_t { none, zlib, zstd };

// The packing that a recording names; an Error for one that this program does not know.
[[nodiscard]] Result<Packing> parse_packing(std::string_view name);

// Unpacks `packed` into `out`, which must come to exactly `size` bytes; false when it does not.
[[nodiscard]] bool unpack(Packing packing, std::string_view packed, std::size_t size,
                          std::vector<char>& out);

}  // namespace e4r::trace::dat
