// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace e4r::lazyinit {

// Where a file system lies: "disk.img?offset=1048576" says, as for libext2fs, that it starts so
// many bytes behind the start of the file. A file that has such a name itself is meant by it.
struct Place {
  std::string file;
  std::uint64_t offset = 0;
};

[[nodiscard]] Place place_of(const std::string& name);
[[nodiscard]] std::string name_of(const Place& place);

// The device that "LABEL=data" or "UUID=..." names, as tune2fs(8) and mount(8) find it (libblkid).
// Any other text is handed back, and so is one that no device answers to.
[[nodiscard]] std::string named_device(const std::string& text);

}  // namespace e4r::lazyinit
