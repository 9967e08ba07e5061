// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lazyinit/zeroer.h"
#include "tune2fs-lazy/session.h"
#include "util/progress.h"

namespace e4r::tools {

// Before tables are taken for zero because they read so: an Error on a device where what was
// discarded may read otherwise later, unless --trust-discard was given.
[[nodiscard]] Status may_believe_zeros(const ImageOptions& options, bool trust_discard);

// Groups without ITABLE_ZEROED.
[[nodiscard]] std::vector<std::uint32_t> groups_to_do(const lazyinit::Tables& tables);

// Groups whose tables have blocks that no inode was ever in.
[[nodiscard]] std::vector<std::uint32_t> groups_with_unused(const lazyinit::Tables& tables);

// zero_tables() with a progress line and time left on a terminal, stopping on signals.
[[nodiscard]] Result<lazyinit::ZeroOutcome> zero_with_progress(
    const Session& session, std::span<const std::uint32_t> groups, lazyinit::ZeroOptions options,
    Progress& progress);

// What came of it, a line for each thing that happened.
void print_outcome(const lazyinit::ZeroOutcome& outcome, bool dry_run);

}  // namespace e4r::tools
