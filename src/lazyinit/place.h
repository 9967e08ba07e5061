// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "util/status.h"

namespace e4r::lazyinit {

// Where a file system lies. As in libext2fs, "disk.img?offset=1048576" says that it starts at that
// byte of the file. If a file has such a name itself, the name means that file.
struct Place {
  std::string file;
  std::uint64_t offset = 0;
};

[[nodiscard]] Place place_of(const std::string& name);
[[nodiscard]] std::string name_of(const Place& place);

// The device that "LABEL=data" or "UUID=..." names, found as tune2fs(8) and mount(8) find it
// (libblkid). An Error if no device has that label or UUID, unless there is a file of such a name.
// Any other text is returned unchanged.
[[nodiscard]] Result<std::string> named_device(const std::string& text);

}  // namespace e4r::lazyinit
