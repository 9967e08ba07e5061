// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "allocator/tunables.h"
#include "guest/random/life.h"
#include "image/image.h"
#include "state/fs_state.h"
#include "support/temp_dir.h"

namespace e4r::test::random {

// A file system of a given shape, as an image that a kernel can mount and from which a model can
// start.
class StartImage {
 public:
  // Fails if mke2fs refuses the shape or if a tunable is invalid.
  [[nodiscard]] static Result<std::unique_ptr<StartImage>> make(const Shape& shape);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const state::Source& source() const { return source_; }
  [[nodiscard]] const allocator::Tunables& tunables() const { return tunables_; }

 private:
  TempDir dir_;
  std::string path_ = dir_.file("image");
  std::unique_ptr<image::Image> image_;
  state::Source source_;
  allocator::Tunables tunables_;
};

}  // namespace e4r::test::random
