// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <string>

// Numbers as .e4c files hold them: the least significant byte first.
namespace e4r::capture {

template <class T>
void put_le(char* p, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) p[i] = static_cast<char>(value >> 8 * i);
}

template <class T>
[[nodiscard]] T get_le(const char* p) {
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

}  // namespace e4r::capture
