// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "trace/writer.h"

namespace e4r::test {

// An output file in memory. Its owner can read what was written.
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
