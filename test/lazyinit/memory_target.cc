// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/memory_target.h"

#include <algorithm>
#include <cstring>

namespace e4r::test {

Status MemoryTarget::check(const char* what, std::uint64_t offset, std::uint64_t length) const {
  if (offset <= size() && length <= size() - offset) return {};
  return error("cannot {} {} at byte {}", what, path(), offset);
}

Status MemoryTarget::read(std::uint64_t offset, std::span<std::byte> bytes) {
  E4R_CHECK(check("read", offset, bytes.size()));
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
  return {};
}

Status MemoryTarget::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  E4R_CHECK(check("write", offset, bytes.size()));
  std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  ++changes_;
  return {};
}

Result<lazyinit::Zeroed> MemoryTarget::zero(std::uint64_t offset, std::uint64_t length,
                                            lazyinit::ZeroBy /*by*/) {
  E4R_CHECK(check("zero", offset, length));
  if (length > 0) std::memset(&bytes_[offset], 0, length);
  ++changes_;
  return lazyinit::Zeroed{lazyinit::ZeroMethod::write, length, 0};
}

Result<lazyinit::Probed> MemoryTarget::probe(std::uint64_t offset, std::uint64_t length) {
  using lazyinit::Content;
  E4R_CHECK(check("probe", offset, length));
  const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto end = begin + static_cast<std::ptrdiff_t>(length);
  const auto at = std::find_if(begin, end, [](std::byte b) { return b != std::byte{0}; });
  if (at == end) return lazyinit::Probed{Content::zeros, 0, length};
  const auto first = static_cast<std::uint64_t>(std::distance(bytes_.begin(), at));
  return lazyinit::Probed{Content::data, first, first - offset + 1};
}

}  // namespace e4r::test
