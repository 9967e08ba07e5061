// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/inventory.h"

#include <algorithm>

namespace e4r::lazyinit {
namespace {

std::uint64_t bytes_to_do(const Table& table) {
  return table.zeroed ? 0 : table.unused_part.length;
}

bool alike(const Table& a, const Table& b) {
  return a.unused == b.unused && a.inode_uninit == b.inode_uninit &&
         a.block_uninit == b.block_uninit && a.zeroed == b.zeroed &&
         a.unused_part.length == b.unused_part.length;
}

char symbol(std::span<const Table> tables) {
  const auto all = [tables](auto has) { return std::all_of(tables.begin(), tables.end(), has); };
  if (all([](const Table& t) { return t.zeroed; })) return '#';
  if (!all([](const Table& t) { return !t.zeroed; })) return '+';
  return all([](const Table& t) { return t.inode_uninit; }) ? '.' : 'o';
}

}  // namespace

Inventory take_inventory(std::span<const Table> tables) {
  Inventory sum;
  sum.groups = tables.size();
  for (const Table& table : tables) {
    sum.inode_uninit += table.inode_uninit;
    sum.block_uninit += table.block_uninit;
    sum.zeroed += table.zeroed;
    sum.unused_groups += table.unused != 0;
    sum.unused_inodes += table.unused;
    sum.table_bytes += table.whole.length;
    sum.bytes_to_do += bytes_to_do(table);
    sum.to_do += bytes_to_do(table) != 0;
    sum.to_flag += !table.zeroed && table.unused_part.length == 0;
  }
  return sum;
}

std::vector<GroupRun> runs_of_groups(std::span<const Table> tables) {
  std::vector<GroupRun> runs;
  for (const Table& table : tables) {
    if (!runs.empty() && alike(runs.back().like, table))
      runs.back().last = table.group;
    else
      runs.push_back({table.group, table.group, table, bytes_to_do(table)});
  }
  return runs;
}

std::string map_of_groups(std::span<const Table> tables, std::size_t width) {
  std::string map;
  const std::size_t cells = std::min(width, tables.size());
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t first = tables.size() * i / cells;
    map += symbol(tables.subspan(first, tables.size() * (i + 1) / cells - first));
  }
  return map;
}

std::chrono::duration<double> estimate(const Inventory& inventory, std::uint32_t multiplier,
                                       const ZeroCost& cost) {
  const std::chrono::duration<double> bytes(static_cast<double>(inventory.bytes_to_do) /
                                            static_cast<double>(cost.bytes_per_second));
  const auto groups = static_cast<double>(inventory.to_do);
  const auto work = bytes + groups * cost.per_group;
  return work * (double{1} + multiplier) + (multiplier == 0 ? 0 : groups) * kTick;
}

}  // namespace e4r::lazyinit
