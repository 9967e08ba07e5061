// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/frame_sum.h"

#include <zlib.h>

#include <array>

#include "util/little_endian.h"

namespace e4r::trace {
namespace {

std::uint32_t crc(std::uint32_t start, std::string_view bytes) {
  if (bytes.empty()) return start;  // crc32 returns its initial value for a null pointer
  return static_cast<std::uint32_t>(
      crc32(start, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

}  // namespace

std::uint32_t frame_sum(std::string_view head, std::string_view stored) {
  return crc(crc(0, head.substr(0, kFrameBytes - 4)), stored);
}

std::uint32_t extend_chain(std::uint32_t chain, std::uint32_t sum) {
  std::array<char, 4> bytes;
  put_le(bytes.data(), sum);
  return crc(chain, {bytes.data(), bytes.size()});
}

}  // namespace e4r::trace
