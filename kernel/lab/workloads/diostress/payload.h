// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The contents of a sector: zeros, or a header (magic, file, sector, owner and sequence number of
// the write, checksum over all 512 bytes) and a body derived from the header. So a sector that
// mixes two writes is detected.
namespace dio {

constexpr std::uint64_t kSector = 512;
constexpr std::uint32_t kPageSectors = 8;  // sectors per page of memory, on x86

// Owner and sequence number of a write; 0 means zeros.
using Token = std::uint64_t;
constexpr Token kZeros = 0;
constexpr unsigned kOwnerShift = 40;

constexpr Token token_of(std::uint32_t owner, std::uint64_t seq) {
  return static_cast<Token>(owner) << kOwnerShift | seq;
}
constexpr std::uint32_t owner_of(Token token) {
  return static_cast<std::uint32_t>(token >> kOwnerShift);
}
constexpr std::uint64_t seq_of(Token token) {
  return token & ((Token{1} << kOwnerShift) - 1);
}

struct Found {
  enum What { zeros, payload, torn, foreign } what;
  std::uint32_t file;
  std::uint32_t sector;
  Token token;
  std::string detail;  // if the sector is torn: the offset of the first difference
};

void paint(char* out, std::uint32_t file, std::uint32_t sector, Token token);
Found decode(const char* data);
// Returns whether each byte of the sector is from the contents of one of these tokens.
bool is_mix(const char* data, std::uint32_t file, std::uint32_t sector,
            const std::vector<Token>& tokens);

// Returns a token's name, such as "owner 3 seq 17" or "zeros".
std::string name_of(Token token);
// Returns the name of the contents found at `sector` of `file`. May also return "torn", "stale" or
// "misplaced".
std::string name_of(const Found& found, std::uint32_t file, std::uint32_t sector);

}  // namespace dio
