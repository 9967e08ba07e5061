// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lazyinit/zeroer.h"
#include "tune2fs-lazy/session.h"
#include "util/progress.h"

namespace e4r::tools {

// Refuses to take tables for zero because they read as zeros, on a device where discarded blocks
// may read otherwise later. --trust-discard allows it.
[[nodiscard]] Status may_believe_zeros(const ImageOptions& options, bool trust_discard);

// Groups without ITABLE_ZEROED.
[[nodiscard]] std::vector<std::uint32_t> groups_to_do(const lazyinit::Tables& tables);

// Groups whose tables have blocks without any used inode.
[[nodiscard]] std::vector<std::uint32_t> groups_with_unused(const lazyinit::Tables& tables);

// Runs zero_tables() with a progress line and the time left, if on a terminal. Signals stop it.
[[nodiscard]] Result<lazyinit::ZeroOutcome> zero_with_progress(
    const Session& session, std::span<const std::uint32_t> groups, lazyinit::ZeroOptions options,
    Progress& progress);

// Prints the outcome, a line for each thing that happened.
void print_outcome(const lazyinit::ZeroOutcome& outcome, const ImageOptions& options);

}  // namespace e4r::tools
