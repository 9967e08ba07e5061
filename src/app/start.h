// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/tunables.h"
#include "app/inputs.h"
#include "image/image.h"
#include "state/fs_state.h"

// The start state of an existing file system on which a command lets simulated programs write.
namespace e4r::app {

struct StartImage {
  OpenedImage opened;
  state::Source source;
};

// Opens an image, a block device or a capture's start image, read only. Fails like open_image(),
// and like ageing on a file system that ageing does not support.
[[nodiscard]] Result<StartImage> open_start(const std::string& name, image::OpenOptions options,
                                            const Listener& listener);

// Applies the tunables of `file`, or if that is empty, of the capture that holds the image. Returns
// their source, or an empty string if there are none.
[[nodiscard]] Result<std::string> take_start_tunables(const std::string& file,
                                                      const OpenedImage& opened,
                                                      allocator::Tunables& tunables);

// Free inodes that files can use, at most `most`, in ascending order.
[[nodiscard]] Result<std::vector<std::uint32_t>> free_inodes(const image::Image& image,
                                                             std::uint64_t most);
// Orders free inodes so that consecutive ones are in different flex groups.
[[nodiscard]] std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& free,
                                                const image::SuperblockInfo& superblock,
                                                const Geometry& geometry);

}  // namespace e4r::app
