// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "age/workload.h"
#include "util/status.h"

namespace e4r::age {

// Operations that a file lists, one a line, in the form of text_of(). A sync ends them.
class ListedWorkload : public Drawing {
 public:
  // `from` names the text in errors. The Error names the line: one that is no operation, a slot
  // that does not exist, a file beyond what ext4 maps, a file that is written at its end and at
  // offsets without having been removed between, or a `w` of a file that is not empty.
  [[nodiscard]] static Result<std::unique_ptr<Drawing>> read(std::string_view text,
                                                             const std::string& from,
                                                             const FileLimits& limits);
  [[nodiscard]] bool next(Operation& operation) override;

  // Without what fallocate gives.
  [[nodiscard]] std::uint64_t bytes_written() const override { return written_; }
  [[nodiscard]] std::uint64_t bytes_wanted() const override { return wanted_; }
  [[nodiscard]] std::uint64_t files() const override { return files_; }
  [[nodiscard]] bool out_of_slots() const override { return false; }

 private:
  std::vector<Operation> operations_;
  std::size_t at_ = 0;  // of the next one
  std::uint64_t written_ = 0, wanted_ = 0;
  std::uint64_t files_ = 0;  // that were given data or space
};

}  // namespace e4r::age
