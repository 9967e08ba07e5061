// SPDX-License-Identifier: GPL-2.0-only
#include "round.h"

#include <linux/falloc.h>

#include <algorithm>

namespace dio {
namespace {

constexpr std::uint32_t kChunk = 128;  // sectors per read or write

// Writes directly, or through the page cache with a flush to the disk.
void write_chunk(Stress& stress, const Target& target, lab::Buffer& buffer, std::uint32_t first,
                 std::uint32_t count, bool direct) {
  const auto claimed = target.model->begin(
      {Kind::layout, direct ? Via::sync : Via::buffered, 0, first, count, Mode::exclusive});
  if (!claimed) lab::die("layout: nobody else is here");
  for (std::uint32_t i = 0; i < count; ++i)
    paint(buffer.data() + i * kSector, target.model->file(), first + i, claimed->token);
  long result = pwrite(direct ? target.direct : target.buffered, buffer.data(), count * kSector,
                       static_cast<off_t>(first * kSector));
  if (result < 0) result = -errno;
  target.model->end(*claimed, result);
  if (result != count * long{kSector}) stress.unexpected(target, "layout", result);
}

void allocate_chunk(Stress& stress, const Target& target, std::uint32_t first,
                    std::uint32_t count) {
  if (fallocate(target.buffered, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first * kSector),
                static_cast<off_t>(count * kSector)) != 0 &&
      errno != EOPNOTSUPP)
    stress.unexpected(target, "fallocate", -errno);
}

void compare(Stress& stress, const Target& target, lab::Buffer& buffer, int fd,
             const std::string& when) {
  Model& model = *target.model;
  const std::uint32_t size = model.size();
  for (std::uint32_t first = 0; first < size; first += kChunk) {
    const std::uint32_t count = std::min(kChunk, size - first);
    const long n = pread(fd, buffer.data(), count * kSector, static_cast<off_t>(first * kSector));
    if (n != count * long{kSector}) {
      stress.unexpected(target, when, n < 0 ? -errno : n);
      return;
    }
    const auto violation = model.check(first, buffer.data(), count);
    if (violation) stress.report(target, when, *violation);
    stress.add(Count::sectors_verified, count);
  }
}

// Draws some of the pages that are never truncated, to reserve them for mappings.
Range draw_mapped(lab::Rng& rng, const Model& model) {
  const std::uint32_t room = model.most() / kKeptPart / kPageSectors;
  const auto pages = std::min(static_cast<std::uint32_t>(rng.between(4, 16)), room);
  const auto first = static_cast<std::uint32_t>(rng.below(room - pages + 1));
  return {first * kPageSectors, pages * kPageSectors};
}

}  // namespace

void lay_out(Stress& stress, Target& target, const std::string& path, Model& model) {
  lab::Rng rng = generator(target.seed, 0x1a70);
  target.model = &model;
  target.path = path;
  if (unlink(path.c_str()) != 0 && errno != ENOENT) lab::die(path);
  target.buffered = static_cast<int>(lab::check(open(path.c_str(), O_RDWR | O_CREAT, 0644), path));
  target.direct = static_cast<int>(lab::check(open(path.c_str(), O_RDWR | O_DIRECT), path));
  const std::uint32_t per_block = model.sectors_per_block();
  const std::uint32_t size =
      model.most() / 2 - static_cast<std::uint32_t>(rng.below(2 * per_block));
  const auto grown = model.begin_extend({Kind::grow, Via::control, 0, 0, size}, 0, 0);
  lab::check(ftruncate(target.buffered, static_cast<off_t>(size * kSector)), path);
  model.end(*grown, 0);
  target.overlap_first = static_cast<std::uint32_t>(rng.below(size / per_block)) * per_block;
  target.overlap_end = std::min(size, target.overlap_first + size / 5);
  lab::Buffer buffer(kChunk * kSector);
  for (std::uint32_t first = 0; first < size;) {
    const auto blocks =
        static_cast<std::uint32_t>(rng.percent(50) ? rng.between(1, 3) : rng.between(1, 16));
    const std::uint32_t count = std::min({blocks * per_block, kChunk, size - first});
    const std::uint64_t kind = rng.below(100);
    if (kind < 40)
      write_chunk(stress, target, buffer, first, count, rng.percent(75) && count % per_block == 0);
    else if (kind < 75)
      allocate_chunk(stress, target, first, count);
    first += count;
  }
  if (rng.percent(50))
    allocate_chunk(stress, target, size, static_cast<std::uint32_t>(rng.between(1, 200)));
  if (rng.percent(70)) lab::check(fsync(target.buffered), path);
  model.keep_for_mappings(draw_mapped(rng, model));
  if (stress.exposing) model.let_stores_expose();
}

void verify(Stress& stress, const Target& target, const std::string& when) {
  lab::Buffer buffer(kChunk * kSector);
  struct stat st {};
  lab::check(fstat(target.direct, &st), target.path);
  const auto bytes = static_cast<std::uint64_t>(st.st_size);
  if (!target.model->settle_size(bytes)) stress.unexpected(target, when + ": size", st.st_size);
  compare(stress, target, buffer, target.direct, when + ", read directly");
  posix_fadvise(target.buffered, 0, 0, POSIX_FADV_DONTNEED);
  compare(stress, target, buffer, target.buffered, when + ", read from the page cache");
  stress.add(Count::sectors_ambiguous, target.model->ambiguous());
}

void verify_behind(Stress& stress, const Target& target) {
  const std::uint32_t size = target.model->size();
  const std::uint32_t count = std::min<std::uint32_t>(target.model->most() - size, 256);
  const auto grown = target.model->begin_extend({Kind::grow, Via::control, 0, 0, count}, 0, 0);
  if (!grown) return;
  lab::check(ftruncate(target.buffered, static_cast<off_t>((size + count) * kSector)), target.path);
  target.model->end(*grown, 0);
  verify(stress, target, "extended at the end");
}

}  // namespace dio
