// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>

#include "lazyinit/place.h"
#include "lazyinit/target.h"

namespace e4r::lazyinit {

// The part of `file` from byte place.offset on. An Error if the file ends before that.
[[nodiscard]] Result<std::unique_ptr<Target>> behind_offset(std::unique_ptr<Target> file,
                                                            const Place& place);

}  // namespace e4r::lazyinit
