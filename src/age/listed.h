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

// Operations from a file, one per line, in the form of text_of(). A sync follows the last one.
class ListedWorkload : public Drawing {
 public:
  // Error messages name the source `from` and the line. Errors: a line that is not an operation; a
  // slot that does not exist; a file too large for ext4; a file that is written both at its end and
  // at offsets without being removed in between; a `w` for a file that is not empty.
  [[nodiscard]] static Result<std::unique_ptr<Drawing>> read(std::string_view text,
                                                             const std::string& from,
                                                             const FileLimits& limits);
  [[nodiscard]] bool next(Operation& operation) override;

  // Does not count space that fallocate allocates.
  [[nodiscard]] std::uint64_t bytes_written() const override { return written_; }
  [[nodiscard]] std::uint64_t bytes_wanted() const override { return wanted_; }
  [[nodiscard]] std::uint64_t files() const override { return files_; }
  [[nodiscard]] bool out_of_slots() const override { return false; }

 private:
  std::vector<Operation> operations_;
  std::size_t at_ = 0;  // index of the next operation
  std::uint64_t written_ = 0, wanted_ = 0;
  std::uint64_t files_ = 0;  // files that got data or space
};

}  // namespace e4r::age
