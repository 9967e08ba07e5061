// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/opened_image.h"

namespace e4r::app {

Result<OpenedImage> open_image(const std::string& name, image::OpenOptions options) {
  std::optional<capture::Capture> capture;
  std::string path = name;
  if (capture::is_capture(name)) {
    E4R_TRY(capture, capture::Capture::open(name));
    if (capture->image().empty())
      return error("{}: has no start image (--snapshot {})", name, capture->start().snapshot);
    path = capture->image().path();
  }
  options.name = name;
  E4R_TRY(image::Image image, image::Image::open(path, options));
  return OpenedImage{std::move(capture), std::move(path), std::move(image)};
}

}  // namespace e4r::app
