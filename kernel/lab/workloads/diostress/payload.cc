// SPDX-License-Identifier: GPL-2.0-only
#include "payload.h"

#include <algorithm>
#include <cstring>

namespace dio {
namespace {

constexpr std::uint32_t kMagic = 0x64696f73;
constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15ull;

struct Header {
  std::uint32_t magic;
  std::uint32_t file;
  std::uint32_t sector;
  std::uint32_t reserved;
  Token token;
  std::uint64_t sum;  // checksum of the sector with this field set to 0
};
static_assert(sizeof(Header) == 32);

std::uint64_t sum_of(const char* data) {
  std::uint64_t sum = kMix;
  for (std::uint64_t i = 0; i < kSector; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + i, 8);
    sum = (sum ^ word) * 0x2545f4914f6cdd1dull;
    sum ^= sum >> 29;
  }
  return sum;
}

bool all_zero(const char* data) {
  return std::all_of(data, data + kSector, [](char c) { return c == 0; });
}

}  // namespace

void paint(char* out, std::uint32_t file, std::uint32_t sector, Token token) {
  if (token == kZeros) {
    std::memset(out, 0, kSector);
    return;
  }
  Header header{kMagic, file, sector, 0, token, 0};
  std::uint64_t word = token * kMix + sector + (static_cast<std::uint64_t>(file) << 32);
  for (std::uint64_t i = sizeof(header); i < kSector; i += 8) {
    word = word * 6364136223846793005ull + 1442695040888963407ull;
    std::memcpy(out + i, &word, 8);
  }
  std::memcpy(out, &header, sizeof(header));
  header.sum = sum_of(out);
  std::memcpy(out, &header, sizeof(header));
}

Found decode(const char* data) {
  if (all_zero(data)) return {Found::zeros, 0, 0, kZeros, ""};
  Header header{};
  std::memcpy(&header, data, sizeof(header));
  if (header.magic != kMagic || header.token == kZeros)
    return {Found::foreign, 0, 0, kZeros, "no header"};
  char want[kSector];
  paint(want, header.file, header.sector, header.token);
  const Found::What what = std::memcmp(want, data, kSector) == 0 ? Found::payload : Found::torn;
  Found found{what, header.file, header.sector, header.token, ""};
  if (what == Found::payload) return found;
  const char* differs = std::mismatch(want, want + kSector, data).second;
  found.detail = "from byte " + std::to_string(differs - data);
  if (std::all_of(differs, data + kSector, [](char c) { return c == 0; })) found.detail += " zeros";
  return found;
}

bool is_mix(const char* data, std::uint32_t file, std::uint32_t sector,
            const std::vector<Token>& tokens) {
  bool may_be[kSector] = {};
  char want[kSector];
  for (const Token token : tokens) {
    paint(want, file, sector, token);
    for (std::uint64_t i = 0; i < kSector; ++i) may_be[i] = may_be[i] || want[i] == data[i];
  }
  return std::all_of(may_be, may_be + kSector, [](bool right) { return right; });
}

std::string name_of(Token token) {
  if (token == kZeros) return "zeros";
  return "owner " + std::to_string(owner_of(token)) + " seq " + std::to_string(seq_of(token));
}

std::string name_of(const Found& found, std::uint32_t file, std::uint32_t sector) {
  switch (found.what) {
    case Found::zeros:
      return "zeros";
    case Found::foreign:
      return "foreign (" + found.detail + ")";
    case Found::torn:
      return "torn (" + name_of(found.token) + ", " + found.detail + ")";
    case Found::payload:
      break;
  }
  if (found.file != file)
    return "stale (" + name_of(found.token) + " of file " + std::to_string(found.file) + ")";
  if (found.sector != sector)
    return "misplaced (" + name_of(found.token) + " of sector " + std::to_string(found.sector) +
           ")";
  return "stale (" + name_of(found.token) + ")";
}

}  // namespace dio
