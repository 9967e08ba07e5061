// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/aged.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <boost/json.hpp>
#include <numeric>

#include "json/text.h"
#include "report/json_parts.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::report {
namespace {

namespace json = boost::json;

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::uint64_t size_of(const AgedReport& r) {
  return r.superblock.blocks_count * r.superblock.block_size();
}

double figure_of(const results::Outcome& of, std::string_view key) {
  return results::number_of(results::find_row(key, results::Reporter::age)->of(of)).value_or(0);
}

// Puts the free-space figures that are not rows.
void put_lists(json::object& into, const results::Outcome& of) {
  const stats::FreeExtents& free = of.free.extents;
  into["histogram"] = histogram_json(free, of.geometry.block_size());
  into["aligned"] = aligned_json(of.free.space.aligned, of.geometry, free.blocks);
}

// Describes the times of a kernel's decisions. Empty if a model decided.
std::string times_text(const allocator::DecisionTimes& times) {
  if (times.empty()) return {};
  return fmt::format(
      "decisions    {} ns on average, median {}, 99 % of them no more than {}\n"
      "             (only the kernel's code: no disk, one CPU, no other writer)\n",
      format_count(*times.mean()), format_count(*times.percentile(0.5)),
      format_count(*times.percentile(0.99)));
}

std::string files_text(const stats::FileFragmentation& files) {
  if (files.files == 0) return "none";
  return fmt::format("{}, {:.3f} extents in each, {:.1f} % in one, most {}",
                     format_count(files.files), files.extents_per_file(),
                     100 * share(files.one_extent, files.files), format_count(files.most_extents));
}

std::string free_text(const char* name, const results::Outcome& of) {
  const stats::FreeExtents& free = of.free.extents;
  const std::uint64_t block = of.geometry.block_size();
  return fmt::format("{:<12} {} free extents, {} on average, the largest {}; {} whole MiB free\n",
                     name, format_count(free.count), format_size(free.average() * block),
                     format_size(free.max * block), format_count(free.free_chunks));
}

// Describes the free pieces at the end, by size.
std::string aligned_text(const results::Outcome& of) {
  const stats::AlignedFree& aligned = of.free.space.aligned;
  std::string out;
  for (std::size_t i = 0; i < aligned.pieces.size(); ++i)
    out += fmt::format("{}{} of {} ({:.1f} %)", i == 0 ? "" : ", ", format_count(aligned.pieces[i]),
                       format_size(1ull << stats::AlignedFree::kSizeBits[i]),
                       100 * share(aligned.blocks(of.geometry, i), of.free.extents.blocks));
  return fmt::format("aligned      free pieces: {}\n", out);
}

// Describes the results of requests for files with an extsize. Empty if no file has one.
std::string extsize_text(const age::AgerTally& tally) {
  if (tally.aligned == 0) return {};
  return fmt::format("extsize      {} requests for aligned extents, {} refused; {} not written\n",
                     format_count(tally.aligned), format_count(tally.refused),
                     format_size(tally.lost_bytes));
}

// Lists the number of operations of each kind.
std::string operations_text(const age::AgerTally& tally) {
  using Kind = age::Operation::Kind;
  struct Done {
    const char* name;
    std::uint64_t count;
    bool always;
  };
  const std::array<Done, 9> all = {{
      {"writes", tally.count(Kind::write), true},
      {"appends", tally.count(Kind::append), true},
      {"files emptied", tally.count(Kind::remove), true},
      {"syncs", tally.count(Kind::sync), true},
      {"writes at offsets", tally.count(Kind::write_at), false},
      {"direct writes", tally.count(Kind::direct), false},
      {"fallocates", tally.count(Kind::extend) + tally.count(Kind::reserve), false},
      {"holes", tally.count(Kind::punch), false},
      {"fsyncs", tally.count(Kind::flush), false},
  }};
  std::vector<std::string> shown;
  for (const Done& done : all)
    if (done.always || done.count > 0)
      shown.push_back(fmt::format("{} {}", format_count(done.count), done.name));
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::string searches_text(const stats::KnownCounters& searches) {
  const auto groups = searches.groups_considered();
  return fmt::format("{}{} extents scanned",
                     groups ? fmt::format("{} groups considered, ", format_count(*groups)) : "",
                     format_count(searches.extents_scanned.value_or(0)));
}

// Names the source of the operations.
std::string origin_text(const AgedReport& r) {
  if (!r.operations_from.empty()) return "operations of " + escape(r.operations_from);
  return fmt::format("profile {}, seed {}", escape(r.profile), r.seed);
}

// Describes the requests that found no space. Empty if there were none.
std::string failed_text(const age::AgerTally& tally) {
  if (tally.failed == 0) return {};
  return fmt::format("no space     for {} requests; {} not written\n", format_count(tally.failed),
                     format_size(tally.lost_bytes));
}

}  // namespace

std::string aged_text(const AgedReport& r) {
  const results::Outcome& end = r.end;
  const results::Aged& aged = *end.aged;
  const std::uint64_t operations =
      std::accumulate(aged.tally.operations.begin(), aged.tally.operations.end(), std::uint64_t{0});
  std::string out = fmt::format(
      "{}: {}, {} blocks, {} groups; {}, policy {}\n"
      "operations   {} in {:.1f} s: {}\n"
      "written      {}, {:.2f} times the file system; {} requests, {} of them for tree nodes\n"
      "searches     {}\n"
      "{}"
      "utilisation  {:.1f} %\n"
      "files        {}\n",
      escape(r.output), format_size(size_of(r)), format_size(r.superblock.block_size()),
      format_count(r.superblock.groups), origin_text(r), end.policy->name, format_count(operations),
      end.elapsed_s, operations_text(aged.tally), format_size(aged.bytes_written),
      figure_of(end, "age/turnover"), format_count(end.tally.requests),
      format_count(aged.tally.tree_nodes), searches_text(end.searches), times_text(end.times),
      100 * figure_of(end, "age/utilisation"), files_text(end.files));
  return out + free_text("start", r.start) + free_text("aged", end) + aligned_text(end) +
         extsize_text(aged.tally) + failed_text(aged.tally) +
         "The inodes are the start image's, so e2fsck finds used blocks without an owner.\n";
}

std::string aged_json(const AgedReport& r) {
  json::object doc = {{"schema", "e4replay-age/1"}, {"image", image_json(r.output, r.superblock)}};
  json::object age;
  if (r.operations_from.empty()) {
    age["profile"] = r.profile;
    age["profile_source"] = r.profile_source;
    age["seed"] = r.seed;
  } else {
    age["operations"] = valid_utf8(r.operations_from);
  }
  age["policy"] = r.end.policy->name;
  age["decisions_hash"] = fmt::format("{:016x}", r.end.decisions_hash);
  age["elapsed_s"] = r.end.elapsed_s;
  doc["age"] = std::move(age);
  put_rows(doc, r.end, results::Reporter::age);
  put_lists(doc["aged"].as_object(), r.end);
  json::object start;
  put_start_rows(start, r.start, results::Reporter::age);
  put_lists(start["aged"].as_object(), r.start);
  doc["start"] = std::move(start["aged"]);
  return json_text(doc);
}

}  // namespace e4r::report
