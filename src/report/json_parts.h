// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>

#include "image/image.h"
#include "results/rows.h"
#include "stats/free_extents.h"

// Objects that several JSON documents contain.
namespace e4r::report {

// A number, or null for an empty value.
[[nodiscard]] boost::json::value json_of(const results::Value& value);

// Stores each figure of the run under its row's key. Levels of the key become nested objects.
void put_rows(boost::json::object& into, const results::Outcome& run,
              results::Reporter reporter = results::Reporter::replay);
// Like put_rows(), for the figures of the start image, which has only some of the rows.
void put_start_rows(boost::json::object& into, const results::Outcome& start,
                    results::Reporter reporter = results::Reporter::replay);
// Stores histogram_json() under "free_extents/histogram", next to the rows.
void put_histogram(boost::json::object& into, const results::Outcome& run);
// Returns the value at a row's key, or null if the document has no such key.
[[nodiscard]] const boost::json::value* find_at(const boost::json::object& in,
                                                std::string_view key);

[[nodiscard]] boost::json::object image_json(const std::string& path,
                                             const image::SuperblockInfo& geo);

// The extents by size. Buckets without extents are left out. Percentages refer to the free blocks
// in these extents.
[[nodiscard]] boost::json::array histogram_json(const stats::FreeExtents& extents,
                                                std::uint32_t block_size);

// {"count":, "min_kb":, "max_kb":, "avg_kb":, "histogram": [...]}.
[[nodiscard]] boost::json::object free_extents_json(const stats::FreeExtents& extents,
                                                    std::uint32_t block_size);

// The lower bound of histogram bucket `bucket`, in KiB.
[[nodiscard]] std::uint64_t bucket_kb(std::size_t bucket, std::uint64_t block_kb);

// [{"size_kb": ..., "pieces": ..., "percent": of `free_blocks`}, ...].
[[nodiscard]] boost::json::array aligned_json(const stats::AlignedFree& aligned,
                                              const Geometry& geometry, std::uint64_t free_blocks);

}  // namespace e4r::report
