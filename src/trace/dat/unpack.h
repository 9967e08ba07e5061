// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace e4r::trace::dat {

// The compression of a recording's parts.
enum class Packing : std::uint8_t { none, zlib, zstd };

// Parses the name of a compression; an unknown name is an Error.
[[nodiscard]] Result<Packing> parse_packing(std::string_view name);

// Unpacks `packed` into `out`. Returns false unless the result has exactly `size` bytes.
[[nodiscard]] bool unpack(Packing packing, std::string_view packed, std::size_t size,
                          std::vector<char>& out);

}  // namespace e4r::trace::dat
