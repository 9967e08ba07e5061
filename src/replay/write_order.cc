// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/write_order.h"

namespace e4r::replay {

void WriteOrder::add(std::uint64_t ino, const FileLayout& file, const FileExtent& extent) {
  if (extent.len == 0) return;
  neighbours += extent.len - 1;
  in_order += extent.len - 1;
  if (file.find(extent.end()) != nullptr) ++neighbours;
  const auto extents = file.extents();
  const bool grows = !extents.empty() && extents.back().end() == extent.logical;
  if (grows || (extent.logical > 0 && file.find(extent.logical - 1) != nullptr)) {
    ++neighbours;
    ++continued;
    if (last_ino_ == ino && last_.end() == extent.logical)
      ++in_order;
    else
      ++interrupted;
  }
  if (allocations > 0 && last_.block_end() == extent.block) ++adjacent;
  ++allocations;
  last_ino_ = ino;
  last_ = extent;
}

}  // namespace e4r::replay
