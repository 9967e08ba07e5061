// SPDX-License-Identifier: GPL-2.0-or-later
// Asks two policies where to place a file of 1 MiB, and frees its blocks again.
//   c++ -std=c++20 decide.cc $(pkg-config --cflags --libs e4replay) -o decide
#include <e4replay/allocator.h>

#include <cinttypes>
#include <cstdio>
#include <string>

namespace {

e4replay::Status decide(const e4replay::Image& image, const std::string& policy) {
  auto allocator = e4replay::Allocator::create(image, {.policy = policy});
  if (!allocator) return allocator.error();
  const e4replay::FileSystem& fs = image.file_system();
  e4replay::Request request;
  request.ino = 1000;
  request.file_size = 1 << 20;
  request.len = (1u << 20) / fs.block_size / fs.blocks_per_cluster;
  const auto decision = allocator->allocate(request);
  if (!decision) return decision.error();
  if (!decision->success) return e4replay::Error{policy + ": there is no space"};
  std::printf("%s: %u clusters from block %" PRIu64 " on, by %s after %u groups\n", policy.c_str(),
              decision->len, decision->block,
              std::string(criterion_name(decision->criterion)).c_str(), decision->groups_scanned);
  const std::uint64_t blocks = std::uint64_t{decision->len} * fs.blocks_per_cluster;
  if (auto freed = allocator->free(decision->block, blocks); !freed) return freed;
  allocator->discard(request.ino);  // the file's unused preallocation
  allocator->commit();              // after the commit, its blocks are free
  std::printf("%s: %" PRIu64 " blocks are free at the end\n", policy.c_str(),
              allocator->free_extents().blocks);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: decide IMAGE\n", stderr), 2;
  const auto image = e4replay::Image::open(argv[1]);
  if (!image) return std::fprintf(stderr, "decide: %s\n", image.error().message.c_str()), 1;
  for (const char* policy : {"legacy", "linux-7.3"}) {
    const auto done = decide(*image, policy);
    if (!done) return std::fprintf(stderr, "decide: %s\n", done.error().message.c_str()), 1;
  }
  return 0;
}
