// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "trace/writer.h"

namespace e4r::test {

// A file in memory, which its owner can read.
class MemoryFile final : public trace::OutputFile {
 public:
  explicit MemoryFile(std::string& out) : out_(out) {}
  Status write(std::string_view bytes) override {
    out_ += bytes;
    return {};
  }
  Status commit() override { return {}; }

 private:
  std::string& out_;
};

}  // namespace e4r::test
