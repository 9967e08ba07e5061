// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/temp_dir.h"

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

namespace e4r::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kEnough = std::uintmax_t{2} << 30;

// Prefers a file system in memory, because mke2fs waits for the disk each time.
fs::path parent() {
  const fs::path memory = "/dev/shm";
  std::error_code none;
  const bool chosen = ::getenv("TMPDIR") != nullptr;
  return !chosen && fs::space(memory, none).available >= kEnough && !none
             ? memory
             : fs::temp_directory_path();
}

}  // namespace

TempDir::TempDir() : path_(parent() / "e4r-test-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp " + path_);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace e4r::test
