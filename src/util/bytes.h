// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

// Numbers in the byte order of our files: least significant byte first. A byte is a char or an
// unsigned char.
namespace e4r {

template <class Byte, class T>
void put_le(Byte* p, T value) {
  static_assert(sizeof(Byte) == 1);
  for (std::size_t i = 0; i < sizeof value; ++i) p[i] = static_cast<Byte>(value >> 8 * i);
}

template <class T, class Byte>
[[nodiscard]] T get_le(const Byte* p) {
  static_assert(sizeof(Byte) == 1);
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(p[i])) << 8 * i);
  return value;
}

// Turns a number that was copied from a disk or a file, least significant byte first, into this
// machine's order.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T from_le(T stored) {
  if constexpr (std::endian::native == std::endian::little) return stored;
  T value = 0;
  for (std::size_t i = 0; i < sizeof stored; ++i)
    value = static_cast<T>(value | (stored >> 8 * i & 0xff) << 8 * (sizeof stored - 1 - i));
  return value;
}

// The reverse of from_le(): returns a number that can be copied to a disk or a file.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T to_le(T value) {
  return from_le(value);
}

template <class T>
void append_le(std::string& out, T value) {
  out.resize(out.size() + sizeof value);
  put_le(out.data() + out.size() - sizeof value, value);
}

// The index of the first byte that is not zero, or bytes.size().
[[nodiscard]] inline std::size_t first_nonzero(std::span<const std::byte> bytes) {
  constexpr std::size_t kStep = 4096;
  static constexpr std::byte kZeros[kStep] = {};
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t step = std::min(kStep, bytes.size() - at);
    if (std::memcmp(&bytes[at], kZeros, step) != 0) break;
    at += step;
  }
  while (at < bytes.size() && bytes[at] == std::byte{0}) ++at;
  return at;
}

[[nodiscard]] inline bool all_zero(std::span<const std::byte> bytes) {
  return first_nonzero(bytes) == bytes.size();
}

// CRC-32C (Castagnoli) as ext4 uses it: no inversion at either end, so calls can be chained. Uses
// the CPU's instruction if it has one.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t seed, std::span<const std::byte> data);

// Like crc32c(), but always computed with a table.
[[nodiscard]] std::uint32_t crc32c_by_table(std::uint32_t seed, std::span<const std::byte> data);

// CRC-32C in the usual form: all bits set at the start, the result inverted. `before` is the
// checksum of the bytes that precede these.
[[nodiscard]] std::uint32_t checksum(std::string_view bytes, std::uint32_t before = 0);

}  // namespace e4r
