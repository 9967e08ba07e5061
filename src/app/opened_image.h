// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>

#include "capture/capture.h"
#include "image/image.h"

namespace e4r::app {

// An image alone, which may be a capture's start image.
struct OpenedImage {
  std::optional<capture::Capture> capture;  // the capture that holds the image
  std::string path;                         // path to open it again
  image::Image image;
};

// Opens an image or a capture's start image. Messages call it `name`, whatever `options` say. Fails
// as those do, and on a capture without a start image.
[[nodiscard]] Result<OpenedImage> open_image(const std::string& name, image::OpenOptions options);

}  // namespace e4r::app
