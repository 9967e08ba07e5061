// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "image/files.h"
#include "image/image.h"
#include "image/input_file.h"
#include "util/fd.h"
#include "util/output.h"
#include "util/status.h"

namespace e4r::image {

// Reads block bitmaps from the disk. Adjacent bitmaps are read together. Use one reader per thread.
// A reader has its own buffers and sets only the faults of the groups that it is asked to read.
class BitmapReader {
 public:
  struct Source {
    const InputFile& file;
    const SuperblockInfo& superblock;
    const Layout& layout;
    std::span<GroupInfo> groups;
    ext2_filsys fs;
  };
  using Visit = std::function<void(GroupNumber group, std::span<const std::uint64_t> words)>;

  explicit BitmapReader(const Source& source);

  // Visits the groups [first, last) in order, with bitmaps as from Image::bitmap(). Sets the fault
  // of each group that proves to be bad.
  void read(GroupNumber first, GroupNumber last, const Visit& visit);

 private:
  [[nodiscard]] bool on_disk(GroupNumber group) const;
  [[nodiscard]] GroupNumber end_of_run(GroupNumber first, GroupNumber last) const;
  void fetch(GroupNumber first, GroupNumber end);
  [[nodiscard]] GroupFault decode(GroupNumber group, std::span<const std::byte> raw);
  void load(GroupNumber group, GroupNumber run_first);
  [[nodiscard]] std::span<std::byte> slot(std::size_t index, std::size_t count = 1);

  Source source_;
  std::vector<std::byte> buffer_;     // the bitmap blocks of the current run
  std::vector<bool> readable_;        // one entry per block of the run
  std::vector<std::uint64_t> words_;  // the bitmap of the visited group
};

// Returns the new bitmap of a group in the form of Image::bitmap(), or an empty span to leave the
// group unchanged. The span must be valid until the next call.
using NewBitmap = std::function<std::span<const std::uint64_t>(GroupNumber group)>;

// Makes `out` a sparse copy of the image `source` with new block bitmaps. The copy also has new
// free counts and flags in the descriptors, a new free count in the superblock, and new checksums
// for all of these. Everything else stays the same, even the time of the last write. The inodes are
// those of the source, so e2fsck will find blocks that are in use but belong to no file. `out` must
// be a regular file (util/output.h) other than `source`.
[[nodiscard]] Status write_with_bitmaps(const std::string& source, const OutputName& out,
                                        const NewBitmap& bitmap);

// Makes the same copy in an anonymous file in `directory` (util/output.h).
[[nodiscard]] Result<Fd> anonymous_with_bitmaps(const std::string& source,
                                                const std::string& directory,
                                                const NewBitmap& bitmap);

// Makes the same copy in an anonymous file in memory.
[[nodiscard]] Result<Fd> memory_with_bitmaps(const std::string& source, const NewBitmap& bitmap);

// Makes `out` an unchanged sparse copy of the image. `out` must meet the conditions of
// write_with_bitmaps().
[[nodiscard]] Status write_copy(const std::string& source, const OutputName& out);

// Removes everything that identifies the owner from an image's superblock: label, UUID, mount
// point, times, mount options, the last errors. Checksums stay valid: either their seed is kept
// (metadata_csum_seed) or they are recomputed. Changes the image in place, so it must be a copy.
[[nodiscard]] Status scrub(const std::string& path);

}  // namespace e4r::image
