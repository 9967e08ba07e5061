// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/table.h"

#include <fmt/format.h>

#include <string>

#include "util/units.h"

namespace e4r::results {
namespace {

using stats::FreeChunks;
using Rows = std::vector<Row>;
using Of = const Outcome&;

Value percent_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return {};
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t kib(Of o, std::uint64_t blocks) {
  return blocks * (o.geometry.block_size() / 1024);
}

void add_free_extents(Rows& out) {
  const auto add = [&out](const char* label, const char* key, Better better, auto of,
                          const char* review = nullptr, const char* metric = nullptr,
                          const char* help = nullptr) -> Row& {
    Row& row = out.emplace_back(
        Row{.section = "free extents at the end",
            .label = label,
            .key = key,
            .of = [of](Of o) -> Value { return of(o); },
            .better = better,
            .start = true,
            .reporters = review == nullptr ? std::uint8_t(kReplay | kAge) : kOutcomes});
    if (review != nullptr)
      row.names = {{Reporter::review, key, review}, {Reporter::metrics, metric, help}};
    return row;
  };
  Row& count = add(
      "  count", "free_extents/count", Better::lower, [](Of o) { return o.free.extents.count; },
      "free extents", "free_extents", "Free extents, as if all preallocations were released.");
  count.common = true;
  add("  smallest, KB", "free_extents/min_kb", Better::none, [](Of o) {
    return kib(o, o.free.extents.min);
  }).unit = Unit::kib;
  add(
      "  largest, KB", "free_extents/max_kb", Better::higher,
      [](Of o) { return kib(o, o.free.extents.max); }, "max free extent, KB", "free_extent_max_kb",
      "Size of the largest free extent.")
      .unit = Unit::kib;
  Row& average = add(
      "  average, KB", "free_extents/avg_kb", Better::higher,
      [](Of o) { return kib(o, o.free.extents.average()); }, "avg free extent, KB",
      "free_extent_avg_kb", "Average size of a free extent.");
  average.unit = Unit::kib;
  average.common = true;
  average.place = Place::document;
}

void add_files(Rows& out) {
  const auto add = [&out](const char* label, const char* key, Better better, std::uint8_t reporters,
                          auto of) -> Row& {
    return out.emplace_back(Row{.section = "files written",
                                .label = label,
                                .key = key,
                                .of = [of](Of o) -> Value { return of(o.files); },
                                .better = better,
                                .reporters = reporters});
  };
  using Files = const stats::FileFragmentation&;
  Row& count =
      add("  count", "files/count", Better::none, kOutcomes, [](Files f) { return f.files; });
  count.common = true;
  count.names = {
      {Reporter::review, "files/count", "files"},
      {Reporter::metrics, "files", "Files written since the start image that still exist."}};
  Row& extents = add("  extents", "files/extents", Better::lower, kOutcomes,
                     [](Files f) { return f.extents; });
  extents.common = true;
  extents.names = {{Reporter::review, "files/extents", "extents of files"},
                   {Reporter::metrics, "file_extents",
                    "Extents of the files written since the start image that still exist."}};
  extents.place = Place::document;
  Row& average = add("  extents per file", "files/avg_extents", Better::lower,
                     kReplay | kReview | kHunt | kWriters | kWatch, [](Files f) -> Value {
                       if (f.files == 0) return {};
                       return f.extents_per_file();
                     });
  average.common = true;
  average.names = {{Reporter::writers, "extents_per_file"}};
  Row& most = add("  most extents in one", "files/max_extents", Better::lower, kReplay | kAge,
                  [](Files f) { return f.most_extents; });
  most.common = true;
  most.names = {{Reporter::age, "files/most_extents"}};
  add("  in one extent", "files/single_extent", Better::higher, kReplay | kAge, [](Files f) {
    return f.one_extent;
  }).names = {{Reporter::age, "files/one_extent"}};
  add("  in one extent, %", "files/single_extent_percent", Better::higher, kReview | kHunt,
      [](Files f) { return percent_of(f.one_extent, f.files); })
      .unit = Unit::percent;
  Row& score = add("  score of e4defrag", "files/e4defrag_score", Better::lower,
                   kReplay | kReview | kHunt, [](Files f) -> Value {
                     const auto of = f.defrag_score();
                     return of ? Value(*of) : Value();
                   });
  score.show = Show::never;
  score.place = Place::cases;
  add("  blocks", "files/blocks", Better::none, kAge, [](Files f) { return f.blocks; }).unit =
      Unit::blocks;
}

// Returns the distance of all seeks, divided by `among`, in whole KiB.
Value distance_kb(Of o, std::uint64_t among) {
  if (among == 0) return {};
  return o.layout.distance_kb(among, o.geometry.block_size());
}

void add_layout(Rows& out) {
  const auto add = [&out](const char* label, const char* key, Better better, Unit unit,
                          std::uint8_t reporters, auto of) -> Row& {
    return out.emplace_back(Row{.section = "layout of files written",
                                .label = label,
                                .key = key,
                                .of = [of](Of o) -> Value { return of(o); },
                                .better = better,
                                .unit = unit,
                                .reporters = reporters});
  };
  Row& score =
      add("  layout score, %", "layout/score_percent", Better::higher, Unit::percent, kOutcomes,
          [](Of o) { return percent_of(o.layout.following, o.layout.successors); });
  score.common = true;
  score.names = {{Reporter::age, "files/score_percent"},
                 {Reporter::metrics, "layout_score_percent",
                  "Share of the files' blocks that directly follow the block before them."}};
  add("  score of the median file, %", "layout/median_score_percent", Better::higher, Unit::percent,
      kReplay, [](Of o) -> Value {
        if (o.layout.successors == 0) return {};
        return 100 * o.layout.median;
      });
  add("  seeks to read each once", "layout/seeks", Better::lower, Unit::count, kReplay | kAge,
      [](Of o) { return o.layout.seeks(); })
      .names = {{Reporter::age, "files/seeks"}};
  add("  average seek, KB", "layout/avg_seek_kb", Better::lower, Unit::kib, kReplay,
      [](Of o) { return distance_kb(o, o.layout.seeks()); });
  add("  seeks of a file, KB", "layout/seek_kb_per_file", Better::lower, Unit::kib,
      kReplay | kWriters, [](Of o) { return distance_kb(o, o.layout.files); })
      .names = {{Reporter::writers, "seek_kb_per_file"}};
  // This figure is not rounded, and is 0 instead of absent if there is no seek.
  add("", "files/avg_seek_kb", Better::lower, Unit::kib, kAge, [](Of o) {
    return share(o.layout.distance * o.geometry.block_size() / kKiB, o.layout.seeks());
  });
}

void add_write_order(Rows& out) {
  const auto add = [&out](const char* label, const char* key, Better better, auto of) {
    out.push_back({.section = "order of allocations",
                   .label = label,
                   .key = key,
                   .of = [of](Of o) -> Value { return of(o.write_order); },
                   .better = better,
                   .unit = Unit::percent,
                   .reporters = kReplay});
  };
  using Order = const replay::WriteOrder&;
  add("  next to the one before, %", "write_order/adjacent_percent", Better::higher,
      [](Order w) { return percent_of(w.adjacent, w.allocations > 0 ? w.allocations - 1 : 0); });
  add("  blocks in file order, %", "write_order/in_order_percent", Better::higher,
      [](Order w) { return percent_of(w.in_order, w.neighbours); });
  add("  joints interrupted, %", "write_order/interrupted_percent", Better::lower,
      [](Order w) { return percent_of(w.interrupted, w.continued); });
}

void add_free_space(Rows& out) {
  const auto add = [&out](const std::string& label, const std::string& key, Unit unit,
                          std::uint8_t reporters, auto of) {
    out.push_back({.section = "free space at the end",
                   .label = label,
                   .key = key,
                   .of = [of](Of o) -> Value { return of(o); },
                   .better = Better::higher,
                   .unit = unit,
                   .start = true,
                   .reporters = reporters});
  };
  for (std::size_t i = 0; i < FreeChunks::kSizeBits.size(); ++i) {
    const std::uint64_t bytes = 1ull << FreeChunks::kSizeBits[i];
    const std::string key = fmt::format("free_space/chunks_{}m", bytes >> 20);
    add(fmt::format("  chunks of {} MiB", bytes >> 20), key, Unit::count, kReplay | kAge,
        [i](Of o) { return o.free.space.chunks.count[i]; });
    add("    of free space, %", key + "_percent", Unit::percent, kReplay, [i, bytes](Of o) {
      return percent_of(o.free.space.chunks.count[i] * (bytes / o.geometry.block_size()),
                        o.free.extents.blocks);
    });
  }
  add("", "free_space/whole_mib", Unit::count, kAge,
      [](Of o) { return o.free.extents.free_chunks; });
  for (const Granule& granule : kGranules)
    add(fmt::format("  in extents >= {}, %", granule.name),
        fmt::format("free_space/in_{}_percent", granule.key), Unit::percent, kReplay | kAge,
        [bytes = granule.bytes](Of o) {
          const stats::FreeExtents& free = o.free.extents;
          return percent_of(free.blocks_in(blocks_in(o, bytes)), free.blocks);
        });
}

}  // namespace

void add_space(Rows& out) {
  add_free_extents(out);
  add_files(out);
  add_layout(out);
  add_write_order(out);
  add_free_space(out);
}

}  // namespace e4r::results
