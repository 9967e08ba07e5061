// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>

#include "capture/capture.h"
#include "image/image.h"

namespace e4r::app {

// An image alone, which may be a capture's start image.
struct OpenedImage {
  std::optional<capture::Capture> capture;  // what holds it
  std::string path;                         // under which it can be opened again
  image::Image image;
};

// Opens an image, or a capture's; messages call it `name`, whatever `options` say. Errors: those of
// either, and a capture without a start image.
[[nodiscard]] Result<OpenedImage> open_image(const std::string& name, image::OpenOptions options);

}  // namespace e4r::app
