// SPDX-License-Identifier: GPL-2.0-or-later
#include "posted/texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "stats/mb_files.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::posted {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// Returns the value in the line "KEY: VALUE". Empty if there is no such line.
std::string_view value_of(const std::vector<std::string>& lines, std::string_view key) {
  for (const std::string_view line : lines)
    if (line.starts_with(key) && line.substr(key.size()).starts_with(':'))
      return trimmed(line.substr(key.size() + 1));
  return {};
}

// Returns the number at the beginning of the string: 547274 for "547274 (52.2%)".
std::optional<std::uint64_t> leading_number(std::string_view text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_u64(text.substr(0, end));
  return number.ok() ? std::optional(*number) : std::nullopt;
}

Status put_number(const std::vector<std::string>& lines, std::string_view key,
                  std::uint64_t& into) {
  const auto number = leading_number(value_of(lines, key));
  if (!number) return error("there is no line '{}: NUMBER'", key);
  into = *number;
  return {};
}

// Returns the number of bytes that "4K", "512K" or "1G" stands for.
std::optional<std::uint64_t> size_in(std::string_view text) {
  const auto size = parse_size(trimmed(text));
  return size.ok() ? std::optional(*size) : std::nullopt;
}

// Parses "    8K...   16K-  :    68     165    0.03%". The last bucket of e2freefrag has no second
// size.
std::optional<ExtentText::Bucket> bucket_in(std::string_view line, std::uint32_t block_size) {
  const auto dots = line.find("...");
  const auto colon = line.find(':');
  if (dots == std::string_view::npos || colon == std::string_view::npos || dots > colon)
    return std::nullopt;
  const auto least = size_in(line.substr(0, dots));
  std::string_view end = trimmed(line.substr(dots + 3, colon - dots - 3));
  while (end.ends_with('-') || end.ends_with(' ')) end.remove_suffix(1);
  if (!least) return std::nullopt;
  std::istringstream counts{std::string(line.substr(colon + 1))};
  ExtentText::Bucket out;
  out.least = *least / block_size;
  const auto most = size_in(end);
  out.most = most ? *most / block_size - 1 : std::numeric_limits<std::uint32_t>::max();
  if (!(counts >> out.extents >> out.blocks)) return std::nullopt;
  return out;
}

Status check(const ExtentText& text) {
  std::uint64_t extents = 0, blocks = 0;
  for (const ExtentText::Bucket& bucket : text.buckets) {
    extents += bucket.extents;
    blocks += bucket.blocks;
    if (bucket.least == 0 || bucket.most < bucket.least ||
        bucket.blocks < bucket.extents * bucket.least ||
        bucket.blocks / bucket.most > bucket.extents)
      return error("{} extents of {} to {} blocks cannot have {} blocks",
                   format_count(bucket.extents), format_count(bucket.least),
                   format_count(bucket.most), format_count(bucket.blocks));
  }
  if (extents != text.count || blocks != text.free)
    return error(
        "the histogram has {} extents with {} blocks, and the lines above it say {} with "
        "{}: parts are missing",
        format_count(extents), format_count(blocks), format_count(text.count),
        format_count(text.free));
  return {};
}

Result<ExtentText> read_extents(const std::vector<std::string>& lines) {
  ExtentText out;
  std::uint64_t block_size = 0;
  E4R_CHECK(put_number(lines, "Blocksize", block_size));
  if (block_size < 1024 || block_size > 65536 || (block_size & (block_size - 1)) != 0)
    return error("blocks of {} bytes: not a valid block size", block_size);
  out.block_size = static_cast<std::uint32_t>(block_size);
  E4R_CHECK(put_number(lines, "Total blocks", out.blocks));
  E4R_CHECK(put_number(lines, "Free blocks", out.free));
  if (out.free > out.blocks) return error("more blocks are free than there are");
  E4R_CHECK(put_number(lines, "Num. free extent", out.count));
  if (out.count > 0) {
    E4R_CHECK(put_number(lines, "Min. free extent", out.min_kib));
    E4R_CHECK(put_number(lines, "Max. free extent", out.max_kib));
  }
  if (const auto chunk = leading_number(value_of(lines, "Chunksize"))) {
    out.chunk_bytes = *chunk;
    E4R_CHECK(put_number(lines, "Free chunks", out.free_chunks));
  }
  for (const std::string& line : lines)
    if (const auto bucket = bucket_in(line, out.block_size)) out.buckets.push_back(*bucket);
  E4R_CHECK(check(out));
  return out;
}

// Parses the ranges of "  Free blocks: 9249-32767, 40000".
Status add_ranges(std::string_view list, std::uint64_t blocks, std::vector<BlockRange>& out) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    const std::string_view range = trimmed(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (range.empty()) continue;
    const auto dash = std::min(range.find('-'), range.size());
    const auto first = parse_u64(range.substr(0, dash));
    const auto last = dash == range.size() ? first : parse_u64(range.substr(dash + 1));
    const std::uint64_t floor = out.empty() ? 0 : out.back().end();
    if (!first.ok() || !last.ok() || *first > *last || *last >= blocks || *first < floor)
      return error("'{}' is not a range of free blocks", printable(range));
    if (!out.empty() && out.back().end() == *first)
      out.back().count += *last + 1 - *first;
    else
      out.push_back({*first, *last + 1 - *first});
  }
  return {};
}

Result<SuperblockText> read_superblock(const std::vector<std::string>& lines) {
  SuperblockText out;
  std::uint64_t block_size = 0;
  E4R_CHECK(put_number(lines, "Block size", block_size));
  E4R_CHECK(put_number(lines, "Block count", out.blocks));
  out.block_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(block_size, 1 << 20));
  const auto optional = [&lines](std::string_view key) {
    return leading_number(value_of(lines, key)).value_or(0);
  };
  out.cluster_size = static_cast<std::uint32_t>(optional("Cluster size"));
  out.reserved = optional("Reserved block count");
  out.clusters_or_blocks_per_group = optional("Blocks per group");
  out.inodes = optional("Inode count");
  out.inode_size = optional("Inode size");
  out.flex_groups = optional("Flex block group size");
  out.stride = optional("RAID stride");
  out.stripe_width = optional("RAID stripe width");
  for (const char* key : {"Total journal size", "Journal size"})
    if (out.journal.empty()) out.journal = value_of(lines, key);
  std::istringstream features{std::string(value_of(lines, "Filesystem features"))};
  for (std::string word; features >> word;) out.features.push_back(word);
  bool has_groups = false;
  std::vector<BlockRange> free;
  constexpr std::string_view kFree = "Free blocks:";
  for (const std::string& line : lines) {
    if (line.starts_with("Group ") && line.find(": (Blocks ") != line.npos) has_groups = true;
    const std::string_view inner = trimmed(line);
    if (has_groups && line.starts_with(' ') && inner.starts_with(kFree))
      E4R_CHECK(add_ranges(inner.substr(kFree.size()), out.blocks, free));
  }
  if (has_groups) out.free = std::move(free);
  return out;
}

Status add_groups(std::string_view text, Texts& texts) {
  E4R_TRY(std::vector<state::MbGroup> groups, stats::parse_mb_groups(text));
  std::ranges::sort(groups, {}, &state::MbGroup::number);
  for (std::size_t i = 1; i < groups.size(); ++i)
    if (groups[i].number == groups[i - 1].number)
      return error("group {} is given twice", groups[i].number);
  texts.groups = std::move(groups);
  return {};
}

// Returns the number of groups according to mb_stats: the number after the slash of
// "buddies_generated: 32/32".
std::optional<std::uint64_t> groups_of_stats(std::string_view text) {
  constexpr std::string_view kKey = "buddies_generated:";
  const auto at = text.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + kKey.size());
  rest = rest.substr(0, rest.find('\n'));
  const auto slash = rest.find('/');
  return slash == std::string_view::npos ? std::nullopt : leading_number(rest.substr(slash + 1));
}

Status again(std::string_view kind) {
  return error("is {}, and so is another text: give one of them", kind);
}

}  // namespace

Status add_text(std::string_view text, Texts& texts) {
  const auto has = [text](std::string_view part) { return text.find(part) != text.npos; };
  const auto prefix = [](std::string_view kind, const Status& status) -> Status {
    return status.ok() ? Status() : error("as {}: {}", kind, status.error().message);
  };
  if (has("Free extents") || has("HISTOGRAM OF FREE EXTENT")) {
    if (texts.extents) return again("e2freefrag");
    auto read = read_extents(lines_of(text));
    if (!read.ok()) return prefix("e2freefrag", read.error());
    texts.extents = *std::move(read);
  } else if (has("Block count:") && has("Inode count:")) {
    if (texts.superblock) return again("dumpe2fs");
    auto read = read_superblock(lines_of(text));
    if (!read.ok()) return prefix("dumpe2fs", read.error());
    texts.superblock = *std::move(read);
  } else if (has("buddies_generated") || has("mballoc:")) {
    if (texts.groups_count) return again("mb_stats");
    texts.groups_count = groups_of_stats(text).value_or(0);
  } else if (has("#") && has("[")) {
    if (!texts.groups.empty()) return again("mb_groups");
    return prefix("mb_groups", add_groups(text, texts));
  } else {
    return error("is not the output of e2freefrag or dumpe2fs, nor mb_groups or mb_stats");
  }
  return {};
}

std::vector<std::string> mke2fs_arguments(const SuperblockText& s) {
  std::vector<std::string> out = {"-b", std::to_string(s.block_size)};
  const auto add = [&out](const char* option, std::string value) {
    out.emplace_back(option);
    out.push_back(std::move(value));
  };
  // These features are states that mke2fs must not set. A journal that must be replayed sets
  // needs_recovery, and the kernel sets orphan_present.
  const std::set<std::string> kStates = {"needs_recovery", "orphan_present", "journal_dev"};
  std::string features = "none";
  for (const std::string& feature : s.features)
    if (!kStates.contains(feature)) features += "," + feature;
  if (!s.features.empty()) add("-O", features);
  const bool clusters = s.cluster_size > s.block_size;
  if (clusters) add("-C", std::to_string(s.cluster_size));
  if (!clusters && s.clusters_or_blocks_per_group > 0)
    add("-g", std::to_string(s.clusters_or_blocks_per_group));
  if (s.inodes > 0) add("-N", std::to_string(s.inodes));
  if (s.inode_size > 0) add("-I", std::to_string(s.inode_size));
  if (s.flex_groups > 0) add("-G", std::to_string(s.flex_groups));
  if (s.blocks > 0)
    add("-m", fmt::format("{:.6f}",
                          100.0 * static_cast<double>(s.reserved) / static_cast<double>(s.blocks)));
  if (const auto journal = parse_size(s.journal); journal.ok() && *journal >= 1 << 20)
    add("-J", fmt::format("size={}", *journal >> 20));
  return out;
}

std::string mke2fs_extended(const SuperblockText& s) {
  std::string out;
  if (s.stride > 0) out += fmt::format(",stride={}", s.stride);
  if (s.stripe_width > 0) out += fmt::format(",stripe_width={}", s.stripe_width);
  return out;
}

}  // namespace e4r::posted
