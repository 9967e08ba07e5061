// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace e4r::test {

using Bytes = std::vector<unsigned char>;

// The next three functions throw std::runtime_error on failure.
[[nodiscard]] Bytes read_at(const std::string& path, std::uint64_t offset, std::size_t count);
void write_at(const std::string& path, std::uint64_t offset, const Bytes& bytes);
// Returns the FNV-1a hash of the whole file. Holes count as zeros.
[[nodiscard]] std::uint64_t hash_file(const std::string& path);

// Overwrites bytes of a file. The destructor restores them.
class Patch {
 public:
  Patch(std::string path, std::uint64_t offset, const Bytes& bytes)
      : path_(std::move(path)), offset_(offset), before_(read_at(path_, offset, bytes.size())) {
    write_at(path_, offset, bytes);
  }
  ~Patch() { write_at(path_, offset_, before_); }
  Patch(const Patch&) = delete;
  Patch& operator=(const Patch&) = delete;

 private:
  std::string path_;
  std::uint64_t offset_;
  Bytes before_;
};

}  // namespace e4r::test
