// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <e4replay/plugin.h>

#include "allocator/policy.h"

namespace e4r::plugin {

// What every file is given.
[[nodiscard]] const e4replay::plugin::Host& host();

// Whether it can be the name of a policy or a rung.
[[nodiscard]] bool is_name(std::string_view name);

// A rung of a file as the allocator knows them. `texts` of it must last. Errors: a function that
// is missing, a criterion or a tunable that is none.
[[nodiscard]] Result<allocator::Rung> own_rung(const e4replay::plugin::Rung& rung);

}  // namespace e4r::plugin
