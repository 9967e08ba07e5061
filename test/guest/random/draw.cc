// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/random/draw.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "ext4/criterion.h"

namespace e4r::test::random {
namespace {

using Kind = Step::Kind;

std::uint32_t small(Rng& rng, std::uint64_t low, std::uint64_t high) {
  return static_cast<std::uint32_t>(rng.between(low, high));
}

// Draws a number up to `most` that is often near 1 and sometimes near `most`.
std::uint32_t some(Rng& rng, std::uint32_t most) {
  std::uint32_t limit = most;
  while (limit > 1 && rng.chance(3, 5)) limit /= 2;
  return small(rng, 1, std::max(limit, 1u));
}

Fill draw_fill(Rng& rng, std::uint32_t clusters) {
  Fill fill;
  fill.seed = rng.below(1u << 30);
  fill.skip_percent = rng.chance(1, 2) ? small(rng, 0, 90) : 0;
  const auto run = [&] { return some(rng, std::max(clusters / 4, 4u)); };
  fill.min_free = rng.chance(1, 2) ? 1 : run();
  fill.max_free = std::max(fill.min_free, run());
  fill.min_used = rng.chance(1, 2) ? 1 : run();
  fill.max_used = std::max(fill.min_used, run());
  if (rng.chance(1, 4)) fill.most_free = some(rng, clusters);
  return fill;
}

// Draws a tunable that may change while a file system is mounted.
std::string draw_tunable(Rng& rng, std::uint32_t groups, std::uint32_t clusters) {
  const auto value = [&](const char* name, std::uint64_t number) {
    return fmt::format("{}={}", name, number);
  };
  switch (rng.below(10)) {
    case 0:
      return value("mb_max_to_scan", rng.chance(1, 2) ? rng.below(12) : rng.below(400));
    case 1:
      return value("mb_min_to_scan", rng.chance(1, 2) ? rng.below(4) : rng.below(60));
    case 2:
      return value("mb_stream_req", rng.below(80));
    case 3:
      return value("mb_group_prealloc",
                   rng.chance(1, 5) ? 0 : rng.between(1, std::min(clusters, 700u)));
    case 4:
      return value("mb_max_inode_prealloc", rng.below(20));
    case 5:
      return value("mb_max_linear_groups", rng.chance(1, 2) ? rng.below(6) : rng.below(groups + 4));
    case 6:
      return value("mb_order2_req", rng.below(9));
    case 7:
      return value("mb_prefetch", rng.chance(1, 6) ? 0 : rng.between(1, groups + 2));
    case 8:
      return value("mb_prefetch_limit", rng.below(groups + 2));
    default:
      return value("mb_best_avail_max_trim_order", rng.below(8));
  }
}

}  // namespace

Shape draw_shape(Rng& rng) {
  Shape s;
  s.block_size = 1024u << rng.below(3);
  s.extents = rng.chance(5, 6);
  if (s.extents && rng.chance(1, 4)) s.cluster_size = s.block_size << rng.between(1, 4);
  const std::uint32_t most = 8 * s.block_size;
  std::uint32_t clusters = most;
  if (rng.chance(2, 3)) s.group_clusters = clusters = 8 * some(rng, most / 8 - 32) + 256;
  s.groups = rng.chance(1, 8) ? small(rng, 60, 300) : small(rng, 1, 40);
  // A journal has at least 1,024 blocks, and mke2fs does not make a journal of less than one
  // megabyte.
  const std::uint64_t all = std::uint64_t{s.groups} * clusters;
  s.journal = rng.chance(2, 3) && all > 12000;
  s.short_by = rng.chance(1, 2) ? static_cast<std::uint32_t>(rng.below(clusters / 2)) : 0;
  s.inodes = 16u << rng.below(3);
  if (rng.chance(2, 3)) s.flex = 1u << rng.between(0, 6);
  if (rng.chance(1, 5)) s.stripe_width = small(rng, 2, 64);
  s.reserved = rng.chance(1, 2) ? 5 : 0;
  s.checksums = rng.chance(2, 3);
  s.data_writeback = s.journal && rng.chance(1, 6);
  s.loaded = rng.chance(1, 3);
  if (rng.chance(5, 6)) s.fill = draw_fill(rng, clusters);
  for (std::uint64_t n = rng.below(5); n > 0; --n)
    s.tunables.push_back(draw_tunable(rng, s.groups, clusters));
  if (rng.chance(1, 3)) s.tunables.push_back(fmt::format("mb_optimize_scan={}", rng.below(2)));
  if (rng.chance(1, 6)) {
    s.tunables.push_back(fmt::format("mb_stripe={}", some(rng, 256) + 1));
    // Otherwise the kernel would derive the value from the stripe that mke2fs stores, and the
    // result could be larger than the kernel permits.
    s.tunables.push_back(
        fmt::format("mb_group_prealloc={}", rng.between(1, std::min(clusters, 700u))));
  }
  s.tunables.push_back(fmt::format("possible_cpus={}", rng.between(1, 9)));
  return s;
}

namespace {

// Draws the steps. Keeps track of the sizes of the files, but not of their blocks.
class Steps {
 public:
  Steps(Rng& rng, const state::Source& source)
      : rng_(rng), geometry_(source.geometry), groups_(geometry_.groups) {
    for (const state::GroupSource& group : source.groups) room_ += group.disk_free;
    inodes_ = std::max<std::uint64_t>(std::uint64_t{groups_} * geometry_.inodes_per_group, 20);
    most_files_ = small(rng, 1, 120);
    const std::uint64_t fair =
        std::max<std::uint64_t>(room_ / (rng.between(1, 8) * most_files_), 4);
    longest_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(fair, 20000));
    if (rng.chance(1, 3)) longest_ = small(rng, 1, 24);
    constexpr std::uint32_t kFull[] = {30, 70, 93, 99, 120};
    full_ = room_ * kFull[rng.below(5)] / 100;
    cpus_ = 1u << rng.below(4);
    for (std::uint32_t& weight : weights_) weight = some(rng, 40);
    weights_[kAppend] += 30;
    weights_[kTune] = rng.chance(1, 2) ? 1 : 0;
    weights_[kLoad] = rng.chance(1, 2) ? 1 : 0;
  }

  std::vector<Step> draw(std::uint32_t count) {
    while (out_.size() < count) {
      if (used_ > full_ || files_.size() > most_files_) make_room();
      draw_one();
    }
    return std::move(out_);
  }

 private:
  enum Action : std::uint8_t {
    kAppend,
    kHole,
    kFallocate,
    kMetadata,
    kClose,
    kCut,
    kPunch,
    kEvict,
    kCommit,
    kTune,
    kLoad,
    kActions
  };
  struct File {
    std::uint32_t end = 0;    // the cluster after the last one
    std::uint64_t size = 0;   // bytes
    std::uint64_t holds = 0;  // clusters, approximately
  };

  Step& add(Kind kind, std::uint64_t ino = 0) {
    Step& step = out_.emplace_back();
    step.kind = kind;
    step.ino = ino;
    return step;
  }

  void draw_one() {
    std::uint32_t all = 0;
    for (const std::uint32_t weight : weights_) all += weight;
    auto ticket = static_cast<std::uint32_t>(rng_.below(all));
    std::uint8_t action = 0;
    while (ticket >= weights_[action]) ticket -= weights_[action++];
    act(static_cast<Action>(action));
  }

  void act(Action action) {
    const std::uint64_t ino = pick();
    switch (action) {
      case kAppend:
        return write(ino, files_[ino].end, some(rng_, longest_));
      case kHole:
        return write(ino, static_cast<std::uint32_t>(rng_.below(files_[ino].end + 3 * longest_)),
                     some(rng_, longest_));
      case kFallocate:
        write(ino, files_[ino].end, some(rng_, longest_));
        out_.back().flags = mb::hint_data | (rng_.chance(3, 4) ? mb::hint_noprealloc : 0);
        return;
      case kMetadata:
        return metadata(ino);
      case kClose:
        add(Kind::discard, ino);
        return;
      case kCut:
        return cut(ino, static_cast<std::uint32_t>(rng_.below(files_[ino].end + 1)), UINT32_MAX);
      case kPunch:
        return cut(ino, static_cast<std::uint32_t>(rng_.below(files_[ino].end + 1)),
                   some(rng_, longest_));
      case kEvict:
        return evict(ino);
      case kCommit:
        add(committing_ ? Kind::end_commit : Kind::begin_commit);
        committing_ = !committing_;
        return;
      case kTune:
        add(Kind::set).text = draw_tunable(rng_, groups_, geometry_.clusters_per_group);
        return;
      default:
        add(Kind::load).goal = rng_.below(groups_);
    }
  }

  std::uint64_t pick() {
    if (files_.empty() || (files_.size() < most_files_ && rng_.chance(1, 4))) {
      const std::uint64_t ino = rng_.between(12, std::max<std::uint64_t>(inodes_, 13));
      if (!files_.contains(ino)) {
        files_[ino];
        if (rng_.chance(2, 3)) add(Kind::make, ino);
      }
      return ino;
    }
    auto it = files_.begin();
    std::advance(it, rng_.below(files_.size()));
    return it->first;
  }

  void write(std::uint64_t ino, std::uint32_t at, std::uint32_t len) {
    File& file = files_[ino];
    const std::uint64_t unit = 1ull << (geometry_.block_bits + geometry_.cluster_bits);
    const std::uint64_t before = file.size;
    // The last cluster may extend beyond the end of the file.
    file.size = std::max(file.size, (std::uint64_t{at} + len) * unit - rng_.below(unit));
    file.end = std::max(file.end, at + len);
    file.holds += len;
    used_ += len;
    Step& step = add(Kind::write, ino);
    step.at = at;
    step.len = len;
    step.cpu = static_cast<std::uint32_t>(rng_.below(cpus_));
    step.writers = rng_.chance(3, 4) ? 1 : 0;
    step.size = rng_.chance(1, 5) ? before : file.size;
    step.flags = mb::hint_data;
    if (rng_.chance(2, 3)) step.flags |= mb::delalloc_reserved;
    if (rng_.chance(1, 12)) step.flags |= mb::use_reserved;
    if (rng_.chance(1, 100)) step.flags |= mb::hint_goal_only;
    if (rng_.chance(1, 10)) step.goal = any_block();
  }

  void metadata(std::uint64_t ino) {
    Step& step = add(Kind::metadata, ino);
    step.len = rng_.chance(1, 6) ? some(rng_, 40) : 1;
    step.goal = any_block();
    step.cpu = static_cast<std::uint32_t>(rng_.below(cpus_));
    if (rng_.chance(1, 3)) step.flags |= mb::hint_try_goal;
    if (rng_.chance(1, 2)) step.flags |= mb::use_reserved;
    files_[ino].holds += step.len;
    used_ += step.len;
  }

  std::uint64_t any_block() {
    return rng_.between(std::max(geometry_.first_data_block, 1u), geometry_.blocks_count + 3);
  }

  void cut(std::uint64_t ino, std::uint32_t at, std::uint32_t len) {
    File& file = files_[ino];
    Step& step = add(Kind::free, ino);
    step.at = at;
    step.len = len;
    const std::uint64_t gone =
        std::min<std::uint64_t>({file.holds, len, file.end > at ? file.end - at : 0u});
    file.holds -= gone;
    used_ -= std::min(used_, gone);
    if (len != UINT32_MAX) return;
    file.end = std::min(file.end, at);
    const std::uint64_t unit = 1ull << (geometry_.block_bits + geometry_.cluster_bits);
    file.size = std::min(file.size, file.end * unit);
  }

  void evict(std::uint64_t ino) {
    used_ -= std::min(used_, files_[ino].holds);
    files_.erase(ino);
    add(Kind::evict, ino);
  }

  void make_room() {
    for (std::uint64_t n = rng_.between(1, std::max<std::uint64_t>(files_.size() / 2, 1));
         n > 0 && !files_.empty(); --n) {
      auto it = files_.begin();
      std::advance(it, rng_.below(files_.size()));
      evict(it->first);
    }
    if (files_.empty()) used_ = 0;
    if (rng_.chance(1, 3)) return;
    add(Kind::begin_commit);
    add(Kind::end_commit);
    committing_ = false;
  }

  Rng& rng_;
  const Geometry& geometry_;
  std::uint32_t groups_;
  std::uint64_t room_ = 0, full_ = 0, used_ = 0;  // clusters
  std::uint64_t inodes_ = 0;
  std::uint32_t most_files_ = 0, longest_ = 0, cpus_ = 1;
  std::array<std::uint32_t, kActions> weights_{};
  bool committing_ = false;
  std::map<std::uint64_t, File> files_;
  std::vector<Step> out_;
};

}  // namespace

std::vector<Step> draw_steps(Rng& rng, const state::Source& source, std::uint32_t count) {
  return Steps(rng, source).draw(count);
}

}  // namespace e4r::test::random
