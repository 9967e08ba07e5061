// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <unordered_map>

#include "allocator/request.h"

namespace e4r::replay {

// What a trace has shown of the files that live.
class FileFacts {
 public:
  // A regular file was made.
  void made(std::uint64_t ino) { files_[ino].regular = true; }
  // Data were asked for, with those inputs.
  void asked(const allocator::Request& request, const allocator::Inputs& inputs,
             const state::Geometry& geometry);
  void gone(std::uint64_t ino) { files_.erase(ino); }

  // Bytes; the best lower bound of i_size.
  [[nodiscard]] std::uint64_t size(std::uint64_t ino) const;
  // How its last request was served; unknown before the first.
  [[nodiscard]] allocator::Mode mode(std::uint64_t ino) const;
  // It asked for data, or was seen to be made.
  [[nodiscard]] bool is_regular(std::uint64_t ino) const;

 private:
  struct File {
    std::uint64_t size = 0;
    allocator::Mode mode = allocator::Mode::unknown;
    bool regular = false;
  };
  std::unordered_map<std::uint64_t, File> files_;
};

}  // namespace e4r::replay
