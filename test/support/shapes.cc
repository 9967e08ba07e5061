// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/shapes.h"

#include "support/sizes.h"

namespace e4r::test {
namespace {

// Most shapes have no journal, which would only add used blocks and take long to write.
Shape ext4(const char* name, std::uint64_t bytes, const char* block_size,
           const std::string& features = "", const std::vector<std::string>& more = {}) {
  const std::string all = features.empty() ? "^has_journal" : "^has_journal," + features;
  std::vector<std::string> options = {"-t", "ext4", "-b", block_size, "-O", all};
  options.insert(options.end(), more.begin(), more.end());
  return {name, bytes, options};
}

}  // namespace

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes = {
      ext4("default_1k", 70 * kMiB + 5 * kKiB, "1024"),
      ext4("default_2k", 300 * kMiB + 6 * kKiB, "2048"),
      ext4("default_4k", 300 * kMiB, "4096"),
      ext4("default_8k", 1100 * kMiB, "8192"),
      ext4("default_16k", 3000 * kMiB, "16384"),
      ext4("default_32k", 5000 * kMiB, "32768"),
      ext4("default_64k", 5000 * kMiB, "65536"),
      ext4("whole_groups", 512 * kMiB, "4096"),
      ext4("bigalloc_16k_of_1k", 300 * kMiB, "1024", "bigalloc", {"-C", "16384"}),
      ext4("bigalloc_16k_of_4k", 1200 * kMiB, "4096", "bigalloc", {"-C", "16384"}),
      ext4("bigalloc_1m_of_4k", 3000 * kMiB + 20 * kKiB, "4096", "bigalloc", {"-C", "1M"}),
      ext4("bigalloc_256k_of_64k", 5000 * kMiB, "65536", "bigalloc", {"-C", "262144"}),
      ext4("meta_bg_2k", 150 * kMiB, "2048", "meta_bg,^resize_inode"),
      ext4("meta_bg_many_groups", 200 * kMiB, "1024", "meta_bg,^resize_inode,64bit",
           {"-g", "1024"}),
      ext4("meta_bg_no_flex", 200 * kMiB, "1024", "meta_bg,^resize_inode,^flex_bg", {"-g", "1024"}),
      ext4("no_64bit", 300 * kMiB, "4096", "^64bit"),
      ext4("uninit_bg", 300 * kMiB, "4096", "^metadata_csum,uninit_bg,^64bit"),
      ext4("uninit_bg_no_flex", 300 * kMiB, "1024", "^metadata_csum,uninit_bg,^flex_bg"),
      ext4("no_checksums", 300 * kMiB, "4096", "^metadata_csum,^uninit_bg"),
      ext4("no_flex_bg", 500 * kMiB, "4096", "^flex_bg"),
      ext4("no_extents", 300 * kMiB, "4096", "^extent,^64bit"),
      ext4("sparse_super2", 700 * kMiB, "4096", "sparse_super2"),
      ext4("no_sparse_super", 100 * kMiB, "1024", "^sparse_super,^resize_inode"),
      ext4("csum_seed", 300 * kMiB, "4096", "metadata_csum_seed"),
      ext4("odd_group_size", 100 * kMiB, "4096", "", {"-g", "1032", "-G", "4"}),
      ext4("big_flex", 900 * kMiB, "1024", "", {"-G", "64"}),
      {"journal", 300 * kMiB, {"-t", "ext4", "-b", "4096"}},
      {"ext3", 80 * kMiB, {"-t", "ext3", "-b", "1024"}},
      {"ext2", 100 * kMiB, {"-t", "ext2", "-b", "1024"}},
      {"ext2_revision_0", 40 * kMiB, {"-t", "ext2", "-b", "1024", "-r", "0"}},
  };
  return kShapes;
}

}  // namespace e4r::test
