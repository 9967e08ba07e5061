// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "sweep/ranking.h"
#include "sweep/store.h"

// Writes a finished sweep to files.
namespace e4r::sweep {

// The figures on all lines.
[[nodiscard]] Figures figures_of(const Lines& lines);

// The finished points in order, one line each (points.jsonl).
[[nodiscard]] std::string points_jsonl(const Lines& lines);

// CSV with a header. Columns: point, capture, policy, each axis, each row by its key. A missing
// value is empty. Quoted as in RFC 4180, but lines end in LF.
[[nodiscard]] std::string points_csv(const Plan& plan, const Figures& figures);

// A database with the same content in a table `points`; a missing value is NULL. The file appears
// whole or not at all. Nobody else may write to its directory.
[[nodiscard]] Status write_sqlite(const std::string& path, const Plan& plan,
                                  const Figures& figures);

// Writes all these files and the summary to the store's directory, then removes the journal.
[[nodiscard]] Status write_results(Store& store, const Plan& plan, const Figures& figures,
                                   const results::Row& metric);

}  // namespace e4r::sweep
