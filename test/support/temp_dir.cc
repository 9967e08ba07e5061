// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/temp_dir.h"

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

namespace e4r::test {

TempDir::TempDir() : path_(std::filesystem::temp_directory_path() / "e4r-test-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp " + path_);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace e4r::test
