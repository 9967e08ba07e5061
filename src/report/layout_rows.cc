// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/layout_rows.h"

#include <algorithm>

#include "util/units.h"

namespace e4r::report {
namespace {

using stats::FileLayoutScore;
using stats::FreeChunks;

Value percent_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return {};
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// Distances of all seeks, spread over `among`; whole KiB.
Value distance_kb(const FileLayoutScore& layout, std::uint64_t among, const ReplayReport& report) {
  if (among == 0) return {};
  return layout.distance_kb(among, report.superblock.block_size());
}

using OfRun = Value (*)(const RunReport&, const ReplayReport&);

void add(std::vector<Row>& out, const char* section, const char* label, const char* key,
         Better better, OfRun run) {
  out.push_back({section, label, key, Show::always, run, {}, better});
}

using Run = const RunReport&;
using Report = const ReplayReport&;

void add_files(std::vector<Row>& out) {
  constexpr const char* kSection = "layout of files written";
  add(out, kSection, "  layout score, %", "layout/score_percent", Better::higher,
      [](Run r, Report) { return percent_of(r.layout.following, r.layout.successors); });
  add(out, kSection, "  score of the median file, %", "layout/median_score_percent", Better::higher,
      [](Run r, Report) -> Value {
        if (r.layout.successors == 0) return {};
        return 100 * r.layout.median;
      });
  add(out, kSection, "  seeks to read each once", "layout/seeks", Better::lower,
      [](Run r, Report) -> Value { return r.layout.seeks(); });
  add(out, kSection, "  average seek, KB", "layout/avg_seek_kb", Better::lower,
      [](Run r, Report p) { return distance_kb(r.layout, r.layout.seeks(), p); });
  add(out, kSection, "  seeks of a file, KB", "layout/seek_kb_per_file", Better::lower,
      [](Run r, Report p) { return distance_kb(r.layout, r.layout.files, p); });
}

void add_write_order(std::vector<Row>& out) {
  constexpr const char* kSection = "order of allocations";
  add(out, kSection, "  next to the one before, %", "write_order/adjacent_percent", Better::higher,
      [](Run r, Report) {
        const replay::WriteOrder& order = r.write_order;
        return percent_of(order.adjacent, order.allocations > 0 ? order.allocations - 1 : 0);
      });
  add(out, kSection, "  blocks in file order, %", "write_order/in_order_percent", Better::higher,
      [](Run r, Report) { return percent_of(r.write_order.in_order, r.write_order.neighbours); });
  add(out, kSection, "  joints interrupted, %", "write_order/interrupted_percent", Better::lower,
      [](Run r, Report) { return percent_of(r.write_order.interrupted, r.write_order.continued); });
}

constexpr const char* kFreeSpace = "free space at the end";

// Free chunks of one size, and what part of free space they are.
void add_chunks(std::vector<Row>& out, std::size_t i) {
  const std::uint64_t bytes = 1ull << FreeChunks::kSizeBits[i];
  const std::string key = fmt::format("free_space/chunks_{}m", bytes >> 20);
  out.push_back({kFreeSpace, fmt::format("  chunks of {} MiB", bytes >> 20), key, Show::always,
                 [i](Run r, Report) -> Value { return r.space.chunks.count[i]; },
                 [i](Report p) -> Value { return p.space_before.chunks.count[i]; },
                 Better::higher});
  const auto share = [i, bytes](const FreeChunks& chunks, const stats::FreeExtents& free,
                                Report p) {
    return percent_of(chunks.count[i] * (bytes / p.superblock.block_size()), free.blocks);
  };
  out.push_back({kFreeSpace, "    of free space, %", key + "_percent", Show::always,
                 [share](Run r, Report p) { return share(r.space.chunks, r.free_extents, p); },
                 [share](Report p) { return share(p.space_before.chunks, p.before, p); },
                 Better::higher});
}

// Part of free space that lies in free extents of at least `bytes`, a power of two.
Value in_extents_of(const stats::FreeExtents& free, std::uint64_t bytes, Report report) {
  const std::uint64_t least = std::max<std::uint64_t>(bytes / report.superblock.block_size(), 1);
  return percent_of(free.blocks_in(least), free.blocks);
}

void add_runs(std::vector<Row>& out, const char* size, const char* key, std::uint64_t bytes) {
  out.push_back({kFreeSpace, fmt::format("  in extents >= {}, %", size), key, Show::always,
                 [bytes](Run r, Report p) { return in_extents_of(r.free_extents, bytes, p); },
                 [bytes](Report p) { return in_extents_of(p.before, bytes, p); }, Better::higher});
}

}  // namespace

void add_layout_rows(std::vector<Row>& out) {
  add_files(out);
  add_write_order(out);
  for (std::size_t i = 0; i < FreeChunks::kSizeBits.size(); ++i) add_chunks(out, i);
  add_runs(out, "64 KiB", "free_space/in_64k_percent", 1ull << 16);
  add_runs(out, "1 MiB", "free_space/in_1m_percent", 1ull << 20);
  add_runs(out, "16 MiB", "free_space/in_16m_percent", 1ull << 24);
}

}  // namespace e4r::report
