// SPDX-License-Identifier: GPL-2.0-or-later
// Prints the same as `e4replay freefrag IMAGE`: sizes of free extents.
//   c++ -std=c++20 freefrag.cc $(pkg-config --cflags --libs e4replay) -o freefrag
#include <e4replay/image.h>

#include <cinttypes>
#include <cstdio>

namespace {

double percent(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) * 100 / static_cast<double>(whole);
}

// Bucket k holds extents of 2^(k-1) to 2^k - 1 blocks.
void print_bucket(const e4replay::FileSystem& fs, const e4replay::FreeExtents& free, unsigned k) {
  const auto& [extents, blocks] = free.buckets[k];
  const std::uint64_t from = (std::uint64_t{1} << k) / 2 * (fs.block_size / 1024);
  unsigned unit = 0;
  while (from >> (10 * (unit + 1)) != 0) ++unit;
  char end[16] = "max ";
  if (k + 1 < e4replay::FreeExtents::kBuckets)
    std::snprintf(end, sizeof end, "%5" PRIu64 "%c-", 2 * from >> (10 * unit), "KMGTPEZY"[unit]);
  std::printf("%5" PRIu64 "%c...%7s  :  %12" PRIu64 "  %12" PRIu64 "  %6.2f%%\n",
              from >> (10 * unit), "KMGTPEZY"[unit], end, extents, blocks,
              percent(blocks, fs.free_blocks));
}

void print(const char* name, const e4replay::FileSystem& fs, const e4replay::FreeExtents& free) {
  const std::uint64_t kb = fs.block_size / 1024;
  std::printf("Device: %s\nBlocksize: %u bytes\nTotal blocks: %" PRIu64 "\n", name, fs.block_size,
              fs.blocks);
  std::printf("Free blocks: %" PRIu64 " (%.1f%%)\n", fs.free_blocks,
              percent(fs.free_blocks, fs.blocks));
  std::printf("\nMin. free extent: %" PRIu64 " KB \nMax. free extent: %" PRIu64 " KB\n",
              free.min * kb, free.max * kb);
  std::printf("Avg. free extent: %" PRIu64 " KB\nNum. free extent: %" PRIu64 "\n",
              free.average() * kb, free.count);
  std::printf("\nHISTOGRAM OF FREE EXTENT SIZES:\n%s :  %12s  %12s  %7s\n", "Extent Size Range",
              "Free extents", "Free Blocks", "Percent");
  for (unsigned k = 0; k < e4replay::FreeExtents::kBuckets; ++k)
    if (free.buckets[k].extents != 0) print_bucket(fs, free, k);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: freefrag IMAGE\n", stderr), 2;
  const auto image = e4replay::Image::open(argv[1], {.bitmaps = false});
  if (!image) return std::fprintf(stderr, "freefrag: %s\n", image.error().message.c_str()), 1;
  const auto free = image->free_extents();
  if (!free) return std::fprintf(stderr, "freefrag: %s\n", free.error().message.c_str()), 1;
  print(argv[1], image->file_system(), *free);
  return 0;
}
