// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/file_facts.h"

#include <algorithm>

namespace e4r::replay {

void FileFacts::asked(const allocator::Request& request, const allocator::Inputs& inputs,
                      const Geometry& geometry) {
  File& file = files_[request.ino];
  file.regular = true;
  const std::uint64_t end = (request.logical + geometry.to_blocks(request.len))
                            << geometry.block_bits;
  file.size = std::max(file.size, end);
  if (inputs.size != allocator::SizeStep::unknown &&
      allocator::size_step(file.size, geometry) != inputs.size)
    file.size = std::max(allocator::smallest_in(inputs.size), end);
  if (inputs.mode != allocator::Mode::unknown) file.mode = inputs.mode;
}

FileFacts::File FileFacts::of(std::uint64_t ino) const {
  const File* file = files_.find(ino);
  return file == nullptr ? File{} : *file;
}

}  // namespace e4r::replay
