// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "hunt/candidate.h"
#include "support/ext2_images.h"
#include "support/temp_dir.h"

namespace e4r::hunt {

// Makes start images from new file systems in a temporary directory.
class Images {
 public:
  [[nodiscard]] Starts& starts() { return starts_; }
  [[nodiscard]] int made() const { return made_; }
  [[nodiscard]] std::string file(const std::string& name) const { return directory_.file(name); }

 private:
  test::TempDir directory_;
  int made_ = 0;
  Starts starts_{[this](std::uint64_t bytes, std::uint32_t block_size) -> Result<std::string> {
    std::string path = directory_.file(fmt::format("{}-{}.img", bytes, block_size));
    test::make_image(path, bytes, {"-t", "ext4", "-b", std::to_string(block_size)});
    ++made_;
    return path;
  }};
};

}  // namespace e4r::hunt
