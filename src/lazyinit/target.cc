// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/target.h"

#include "lazyinit/file_target.h"
#include "lazyinit/layered_targets.h"

namespace e4r::lazyinit {

Result<std::unique_ptr<Target>> Target::open(const std::string& path, Access access) {
  const ImageLocation place = place_of(path);
  E4R_TRY(std::unique_ptr<Target> file, FileTarget::open(place.file, access));
  return target_from_offset(std::move(file), place);
}

// Compares without adding, because a sum could wrap around.
Status Target::check_range(std::uint64_t offset, std::uint64_t length) const {
  if (offset <= size() && length <= size() - offset) return {};
  return error("{}: {} bytes at {} lie past the end at {}", path(), length, offset, size());
}

}  // namespace e4r::lazyinit
