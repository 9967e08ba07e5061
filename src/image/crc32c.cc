// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/crc32c.h"

#include <cstring>

#include "image/ext2_handle.h"

namespace e4r::image {
namespace {

std::uint32_t by_table(std::uint32_t seed, std::span<const std::byte> data) {
  return ext2fs_crc32c_le(seed, reinterpret_cast<const unsigned char*>(data.data()), data.size());
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t seed,
                                                               std::span<const std::byte> data) {
  std::uint64_t crc = seed;
  while (data.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, data.data(), sizeof word);
    crc = __builtin_ia32_crc32di(crc, word);
    data = data.subspan(sizeof word);
  }
  auto tail = static_cast<std::uint32_t>(crc);
  for (const std::byte byte : data)
    tail = __builtin_ia32_crc32qi(tail, std::to_integer<unsigned char>(byte));
  return tail;
}

#endif

using Crc = std::uint32_t (*)(std::uint32_t, std::span<const std::byte>);

Crc choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return by_instruction;
#endif
  return by_table;
}

}  // namespace

std::uint32_t crc32c(std::uint32_t seed, std::span<const std::byte> data) {
  static const Crc chosen = choose();
  return chosen(seed, data);
}

}  // namespace e4r::image
