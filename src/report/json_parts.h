// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>

#include "image/fs_info.h"
#include "results/rows.h"
#include "stats/free_aligned.h"
#include "stats/free_extents.h"

// Objects that several JSON documents hold.
namespace e4r::report {

// A number, or null for none.
[[nodiscard]] boost::json::value json_of(const results::Value& value);

// Puts each figure that the run has at the key of its row, levels as objects within each other.
void put_rows(boost::json::object& into, const results::Outcome& run,
              results::Teller teller = results::Teller::replay);
// The same for the rows that the image at the start has.
void put_start_rows(boost::json::object& into, const results::Outcome& start,
                    results::Teller teller = results::Teller::replay);
// Puts "free_extents/histogram", beside the rows that are there: buckets without an extent are left
// out, percent is of the free blocks that the extents have.
void put_histogram(boost::json::object& into, const stats::FreeExtents& extents,
                   std::uint32_t block_size);
// The value at a row's key; null when there is none.
[[nodiscard]] const boost::json::value* find_at(const boost::json::object& in,
                                                std::string_view key);

[[nodiscard]] boost::json::object image_json(const std::string& path,
                                             const image::SuperblockInfo& geo);

// {"count":, "min_kb":, "max_kb":, "avg_kb":, "histogram": [...]}; buckets without an extent are
// left out, percent is of `free_blocks`.
[[nodiscard]] boost::json::object free_extents_json(const stats::FreeExtents& extents,
                                                    std::uint32_t block_size,
                                                    std::uint64_t free_blocks);

// KiB where histogram bucket `bucket` begins.
[[nodiscard]] std::uint64_t bucket_kb(std::size_t bucket, std::uint64_t block_kb);

// [{"size_kb": ..., "pieces": ..., "percent": of `free_blocks`}, ...].
[[nodiscard]] boost::json::array aligned_json(const stats::AlignedFree& aligned,
                                              const Geometry& geometry, std::uint64_t free_blocks);

}  // namespace e4r::report
