// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>

#include "allocator/request.h"
#include "util/recent_map.h"

namespace e4r::replay {

// What a trace has shown of the files that exist.
class FileFacts {
 public:
  struct File {
    std::uint64_t size = 0;                           // bytes; the best lower bound of i_size
    allocator::Mode mode = allocator::Mode::unknown;  // how its last request was served
    bool regular = false;  // the trace has shown its creation, or a request for its data
  };

  // Notes that a regular file was created.
  void made(std::uint64_t ino) { files_[ino].regular = true; }
  // Notes a request for data, with its inputs.
  void asked(const allocator::Request& request, const allocator::Inputs& inputs,
             const Geometry& geometry);
  void gone(std::uint64_t ino) { files_.erase(ino); }

  // What is known of a file; nothing of a file that the trace has not shown.
  [[nodiscard]] File of(std::uint64_t ino) const;

 private:
  RecentMap<boost::unordered_flat_map<std::uint64_t, File>> files_;
};

}  // namespace e4r::replay
