// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "sweep/ranking.h"
#include "sweep/store.h"

// A finished sweep in files.
namespace e4r::sweep {

// The figures of all lines.
[[nodiscard]] Figures figures_of(const Lines& lines);

// The finished points in their order, a line each (points.jsonl).
[[nodiscard]] std::string points_jsonl(const Lines& lines);

// Columns point, capture, policy, each axis, each row by its key; a header; what a point does not
// have is empty. Quoted as RFC 4180 has it, lines end in LF.
[[nodiscard]] std::string points_csv(const Plan& plan, const Figures& figures);

// A database with the same as table `points`; NULL: none. The file appears whole or not at all; no
// one else may write to its directory.
[[nodiscard]] Status write_sqlite(const std::string& path, const Plan& plan,
                                  const Figures& figures);

// All of them, and the summary, into the store's directory; then the journal goes.
[[nodiscard]] Status write_results(Store& store, const Plan& plan, const Figures& figures,
                                   const report::Row& metric);

}  // namespace e4r::sweep
