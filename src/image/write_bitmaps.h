// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <span>
#include <string>

#include "image/fs_info.h"
#include "util/fd.h"
#include "util/output.h"
#include "util/status.h"

namespace e4r::image {

// The new bitmap of a group in the form of Image::bitmap(); empty to leave the group unchanged.
// Valid until the next call.
using NewBitmap = std::function<std::span<const std::uint64_t>(GroupNumber group)>;

// Makes `out` a sparse copy of the image `source` with other block bitmaps: each group's bitmap,
// its descriptor's free count and flags, the superblock's free count, and the checksums of all of
// them. Nothing else changes, nor does the time of the last write: inodes are the source's, so
// e2fsck will find blocks that are in use and belong to nobody. `out` is an output that needs a
// regular file (util/output.h); it must not be `source`.
[[nodiscard]] Status write_with_bitmaps(const std::string& source, const OutputName& out,
                                        const NewBitmap& bitmap);

// The same in an anonymous file in that directory (util/output.h).
[[nodiscard]] Result<Fd> anonymous_with_bitmaps(const std::string& source,
                                                const std::string& directory,
                                                const NewBitmap& bitmap);

// Makes `out` a sparse copy of the image, under the same rules.
[[nodiscard]] Status write_copy(const std::string& source, const OutputName& out);

}  // namespace e4r::image
