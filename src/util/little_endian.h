// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <string>

// Numbers as our files store them: least significant byte first. A byte is a char or an unsigned
// char.
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

// The way back: a number that can be copied to a disk or a file.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T to_le(T value) {
  return from_le(value);
}

template <class T>
void append_le(std::string& out, T value) {
  out.resize(out.size() + sizeof value);
  put_le(out.data() + out.size() - sizeof value, value);
}

}  // namespace e4r
