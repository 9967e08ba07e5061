// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/bytes.h"

#include <array>
#include <cstring>

namespace e4r {
namespace {

// The change of the remainder for each value of a byte. The polynomial is 0x1edc6f41, bits
// reversed.
constexpr std::array<std::uint32_t, 256> kCrc32c = [] {
  std::array<std::uint32_t, 256> table = {};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    table[byte] = crc;
  }
  return table;
}();

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
  return crc32c_by_table;
}

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t seed, std::span<const std::byte> data) {
  std::uint32_t crc = seed;
  for (const std::byte byte : data)
    crc = crc >> 8 ^ kCrc32c[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return crc;
}

std::uint32_t crc32c(std::uint32_t seed, std::span<const std::byte> data) {
  static const Crc chosen = choose();
  return chosen(seed, data);
}

std::uint32_t checksum(std::string_view bytes, std::uint32_t before) {
  return ~crc32c(~before, std::as_bytes(std::span(bytes)));
}

}  // namespace e4r
