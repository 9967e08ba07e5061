// SPDX-License-Identifier: GPL-2.0-only
#include "mapped.h"

#include <sys/mman.h>

#include <algorithm>

namespace dio {
namespace {

constexpr std::uint32_t kMost = 2 * kPageSectors;  // per operation

Range draw(lab::Rng& rng, Range zone) {
  const auto first = static_cast<std::uint32_t>(rng.below(zone.count));
  const auto count = static_cast<std::uint32_t>(rng.between(1, kMost));
  return {zone.first + first, std::min(count, zone.count - first)};
}

}  // namespace

Mapper::Mapping::Mapping(const Target& target)
    : target_(target),
      first_(target.model->for_mappings().first),
      bytes_(target.model->for_mappings().count * kSector),
      memory_(static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED,
                                      target.buffered, static_cast<off_t>(first_ * kSector)))) {
  if (memory_ == MAP_FAILED) lab::die(target.path + ": mmap");
}

Mapper::Mapping::~Mapping() {
  munmap(memory_, bytes_);
}

long Mapper::Mapping::sync(std::uint32_t first, std::uint32_t count) const {
  char* page = at(first - first % kPageSectors);
  const auto bytes = static_cast<std::size_t>(at(first + count) - page);
  return msync(page, bytes, MS_SYNC) < 0 ? -errno : 0;
}

Mapper::Mapper(Stress& stress, std::uint32_t owner)
    : stress_(stress), owner_(owner), buffer_(kMost * kSector) {}

void Mapper::run(std::uint64_t ops) {
  mappings_.clear();
  for (const Target& target : stress_.targets)
    if (target.model->for_mappings().count > 0)
      mappings_.push_back(std::make_unique<Mapping>(target));
  if (mappings_.empty()) return;
  stress_.each_op(owner_, ops, [this](lab::Rng& rng) { one_op(rng); });
  mappings_.clear();
}

// Pauses before each operation. Memory is faster than the disk, so without pauses this thread would
// end before the other threads have begun.
void Mapper::one_op(lab::Rng& rng) {
  std::this_thread::sleep_for(std::chrono::microseconds(rng.below(4000)));
  const Mapping& mapping = *mappings_[rng.below(mappings_.size())];
  if (rng.percent(70)) return store(rng, mapping);
  load(rng, mapping);
}

void Mapper::store(lab::Rng& rng, const Mapping& mapping) {
  Model& model = *mapping.target().model;
  const auto [first, count] = draw(rng, model.for_mappings());
  const auto claimed = model.begin({Kind::mapped, Via::mapping, owner_, first, count});
  if (!stress_.got(claimed)) return;
  for (std::uint32_t i = 0; i < count; ++i)
    paint(buffer_.data() + i * kSector, model.file(), first + i, claimed->token);
  std::memcpy(mapping.at(first), buffer_.data(), count * kSector);
  model.end(*claimed, count * long{kSector});
  stress_.add(Count::mapped_stores);
  if (!rng.percent(25)) return;
  if (const long result = mapping.sync(first, count); result != 0)
    stress_.unexpected(mapping.target(), "msync", result);
}

void Mapper::load(lab::Rng& rng, const Mapping& mapping) {
  Model& model = *mapping.target().model;
  const auto [first, count] = draw(rng, model.for_mappings());
  const ReadWindow window = model.begin_read(first, count, Via::mapping);
  std::memcpy(buffer_.data(), mapping.at(first), count * kSector);
  const auto violation = model.end_read(window, buffer_.data(), count * long{kSector});
  if (violation) stress_.report(mapping.target(), "read from a mapping", *violation);
  stress_.add(Count::reads);
  stress_.add(Count::sectors_read, count);
}

}  // namespace dio
