// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

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

template <class T>
void append_le(std::string& out, T value) {
  out.resize(out.size() + sizeof value);
  put_le(out.data() + out.size() - sizeof value, value);
}

}  // namespace e4r
