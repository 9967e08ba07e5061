// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/json_parts.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

// Puts a value at "a/b/c", creating the objects in between.
void put(json::object& into, std::string_view key, json::value value) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) {
    into[key] = std::move(value);
    return;
  }
  json::value& child = into[key.substr(0, slash)];
  if (!child.is_object()) child = json::object();
  put(child.get_object(), key.substr(slash + 1), std::move(value));
}

// Puts the row's figure if the run has it.
void put_row(json::object& into, const results::Row& row, const results::Outcome& run) {
  if (const results::Value value = row.of(run); !results::is_none(value))
    put(into, row.key, json_of(value));
}

}  // namespace

void put_rows(json::object& into, const results::Outcome& run, results::Reporter reporter) {
  for (const results::Row& row : results::rows(reporter)) put_row(into, row, run);
}

void put_histogram(json::object& into, const results::Outcome& run) {
  put(into, "free_extents/histogram", histogram_json(run.free.extents, run.geometry.block_size()));
}

void put_start_rows(json::object& into, const results::Outcome& start, results::Reporter reporter) {
  for (const results::Row& row : results::rows(reporter))
    if (row.start) put_row(into, row, start);
}

const json::value* find_at(const json::object& in, std::string_view key) {
  const auto slash = key.find('/');
  const json::value* const child = in.if_contains(key.substr(0, slash));
  if (slash == std::string_view::npos || child == nullptr) return child;
  return child->is_object() ? find_at(child->get_object(), key.substr(slash + 1)) : nullptr;
}

std::uint64_t bucket_kb(std::size_t bucket, std::uint64_t block_kb) {
  return bucket == 0 ? 0 : block_kb << (bucket - 1);
}

json::value json_of(const results::Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return *count;
  if (const auto* ratio = std::get_if<double>(&value)) return *ratio;
  return nullptr;
}

json::object image_json(const std::string& path, const image::SuperblockInfo& geo) {
  return {{"path", path},
          {"uuid", geo.uuid},
          {"label", geo.label},
          {"block_size", geo.block_size()},
          {"cluster_size", geo.block_size() << geo.cluster_bits},
          {"blocks", geo.blocks_count},
          {"free_blocks", geo.free_blocks_count},
          {"blocks_per_group", geo.blocks_per_group},
          {"groups", geo.groups},
          {"needs_recovery", geo.needs_recovery}};
}

json::array histogram_json(const stats::FreeExtents& extents, std::uint32_t block_size) {
  const std::uint64_t block_kb = block_size / 1024;
  json::array rows;
  for (std::size_t i = 0; i < stats::FreeExtents::kBuckets; ++i) {
    const auto& [count, blocks] = extents.buckets[i];
    if (count == 0) continue;
    json::object row = {{"from_kb", bucket_kb(i, block_kb)},
                        {"to_kb", bucket_kb(i + 1, block_kb)},
                        {"extents", count},
                        {"blocks", blocks},
                        {"percent", nullptr}};
    if (i + 1 == stats::FreeExtents::kBuckets) row["to_kb"] = nullptr;
    if (extents.blocks != 0)
      row["percent"] = static_cast<double>(blocks) * 100 / static_cast<double>(extents.blocks);
    rows.push_back(std::move(row));
  }
  return rows;
}

json::object free_extents_json(const stats::FreeExtents& extents, std::uint32_t block_size) {
  const std::uint64_t block_kb = block_size / 1024;
  return {{"count", extents.count},
          {"min_kb", extents.min * block_kb},
          {"max_kb", extents.max * block_kb},
          {"avg_kb", extents.average() * block_kb},
          {"histogram", histogram_json(extents, block_size)}};
}

json::array aligned_json(const stats::AlignedFree& aligned, const Geometry& geometry,
                         std::uint64_t free_blocks) {
  json::array rows;
  for (std::size_t i = 0; i < aligned.pieces.size(); ++i) {
    const auto part = static_cast<double>(aligned.blocks(geometry, i));
    rows.push_back(
        {{"size_kb", 1u << (stats::AlignedFree::kSizeBits[i] - 10)},
         {"pieces", aligned.pieces[i]},
         {"percent", free_blocks == 0 ? 0 : 100 * part / static_cast<double>(free_blocks)}});
  }
  return rows;
}

}  // namespace e4r::report
