// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/ageing.h"

#include <algorithm>

#include "age/punch.h"
#include "age/workload.h"
#include "app/setups.h"
#include "capture/capture.h"
#include "replay/load.h"
#include "util/progress.h"
#include "util/units.h"

namespace e4r::app {

Result<StartImage> open_start(const std::string& name, image::OpenOptions options,
                              const Listener& listener) {
  listener.progress.show("reading " + name);
  E4R_TRY(OpenedImage opened, open_image(name, std::move(options)));
  listener.progress.wipe();
  for (const std::string& warning : opened.image.warnings()) listener.warn(warning);
  E4R_CHECK(check_shape(opened.image, name));
  state::Source source = replay::source_from(opened.image);
  return StartImage{std::move(opened), std::move(source)};
}

Result<std::string> take_start_tunables(const std::string& file, const OpenedImage& opened,
                                        allocator::Tunables& tunables) {
  if (file.empty() && !opened.capture) return std::string();
  E4R_TRY(const auto found, noted(file, opened.capture ? &*opened.capture : nullptr,
                                  capture::text_name::kTunables, {}, "tunables"));
  if (!found) return std::string();
  E4R_CHECK(take_tunables(*found, tunables));
  return found->where;
}

Result<std::vector<std::uint32_t>> free_inodes(const image::Image& image, std::uint64_t most) {
  const image::SuperblockInfo& superblock = image.superblock();
  std::vector<std::uint32_t> out;
  for (std::uint32_t group = 0; group < image.groups().size(); ++group) {
    const image::GroupInfo& info = image.groups()[group];
    if (info.free_inodes == 0 || info.bad()) continue;
    const bool all_free = info.free_inodes == superblock.inodes_per_group;
    for (std::uint32_t i = 0; i < superblock.inodes_per_group && out.size() < most; ++i) {
      const std::uint64_t ino = std::uint64_t{group} * superblock.inodes_per_group + i + 1;
      if (ino < superblock.first_inode || ino > superblock.inodes_count) continue;
      if (!all_free) {
        E4R_TRY(const image::InodeInfo inode, image.inode(static_cast<std::uint32_t>(ino)));
        if (inode.links != 0) continue;
      }
      out.push_back(static_cast<std::uint32_t>(ino));
    }
  }
  return out;
}

std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& free,
                                  const image::SuperblockInfo& superblock,
                                  const Geometry& geometry) {
  const std::vector<std::uint32_t> order = spread_inodes(superblock, geometry);
  std::vector<bool> is_free(superblock.inodes_count + std::size_t{1});
  for (const std::uint32_t ino : free) is_free[ino] = true;
  std::vector<std::uint32_t> out;
  out.reserve(free.size());
  for (const std::uint32_t ino : order)
    if (is_free[ino]) out.push_back(ino);
  return out;
}

Status check_shape(const image::Image& image, const std::string& name) {
  if (!image.superblock().features.extents)
    return error("{}: maps files by indirect blocks, and ageing does not support these", name);
  if (!image.bad_groups().empty())
    return error("{}: has damaged groups: repair it with e2fsck first", name);
  return {};
}

std::vector<std::uint32_t> spread_inodes(const image::SuperblockInfo& g, const Geometry& shape) {
  const std::uint32_t size = shape.flex_bg ? shape.flex_size() : 1;
  const std::uint32_t flex_groups = std::max(g.groups / size, 1u);
  std::vector<std::uint32_t> out;
  const std::uint32_t per_flex = g.inodes_per_group * (g.groups / flex_groups);
  const std::uint32_t first = std::max(g.first_inode, 11u) + 1;
  for (std::uint32_t i = 0; i < per_flex; ++i)
    for (std::uint32_t flex = 0; flex < flex_groups; ++flex) {
      const std::uint64_t ino = std::uint64_t{flex} * per_flex + i + 1;
      if (ino >= first && ino <= g.inodes_count) out.push_back(static_cast<std::uint32_t>(ino));
    }
  return out;
}

age::AgeingWorkloadOptions space_to_age(const results::Outcome& start) {
  const Geometry& geometry = start.geometry;
  age::AgeingWorkloadOptions out;
  out.clusters = geometry.blocks_count >> geometry.cluster_bits;
  out.used = out.clusters - geometry.to_clusters(start.free.extents.blocks);
  out.cluster_size = geometry.block_size() << geometry.cluster_bits;
  return out;
}

bool has_large_folios(const allocator::Policy& policy) {
  if (policy.releases.empty()) return false;
  const allocator::Release& first = policy.releases.front().first;
  return std::pair(first.major, first.minor) >=
         std::pair(decltype(first.major){6}, decltype(first.minor){16});
}

Result<std::unique_ptr<Ageing>> Ageing::begin(const image::Image& image, const std::string& path,
                                              const std::string& name, AgeingOptions options) {
  E4R_CHECK(check_shape(image, name));
  const image::SuperblockInfo& superblock = image.superblock();
  std::unique_ptr<Ageing> out(new Ageing(replay::source_from(image), std::move(options)));
  const state::Source& source = out->source_;
  const AgeingOptions& wanted = out->options_;
  allocator::Tunables tunables = allocator::defaults_for(source.geometry);
  E4R_CHECK(apply_settings(tunables, wanted.settings));
  age::AgerOptions ager;
  ager.writing = wanted.writing;
  ager.pid = wanted.pid;
  ager.align = wanted.policy->kernel.align;
  ager.tunables = tunables;
  ager.inodes = wanted.inodes.empty() ? spread_inodes(superblock, source.geometry) : wanted.inodes;
  out->slots_ = static_cast<std::uint32_t>(ager.inodes.size());
  ager.large_folios = has_large_folios(*wanted.policy);
  ager.goes_on_when_full = wanted.operations.has_value();
  out->start_ = results::outcome_of(source);
  if (wanted.operations) {
    const age::FileLimits limits = {superblock.block_size(), out->slots_};
    E4R_TRY(out->workload_,
            age::ListedWorkload::read(*wanted.operations, wanted.operations_from, limits));
  } else {
    age::AgeingWorkloadOptions workload = space_to_age(out->start_);
    workload.slots = out->slots_;
    workload.until = wanted.until;
    workload.seed = wanted.seed;
    E4R_TRY(out->workload_, age::draw_for(wanted.profile, workload));
  }
  E4R_TRY(out->decider_, make_decider(*wanted.policy, tunables, {source, path, name}, true));
  out->ager_ = std::make_unique<age::Ager>(*out->decider_, source, std::move(ager));
  return out;
}

Status Ageing::run(const Listener& listener,
                   const std::function<void(const age::Operation&)>& each) {
  age::Operation operation;
  const Stopwatch watch;
  for (std::uint64_t count = 0; workload_->next(operation); ++count) {
    E4R_CHECK(ager_->apply(operation));
    if (each) each(operation);
    if (listener.progress.active() && count % 4096 == 0)
      listener.progress.show(
          fmt::format("{} of {} written, {} files", format_size(workload_->bytes_written()),
                      format_size(workload_->bytes_wanted()), format_count(workload_->files())));
  }
  const double elapsed_s = watch.seconds();
  listener.progress.wipe();
  E4R_CHECK(decider_->finish());
  outcome_ = results::outcome_of(*ager_, source_.geometry);
  outcome_.policy = options_.policy;
  outcome_.elapsed_s = elapsed_s;
  outcome_.aged->bytes_written = workload_->bytes_written();
  if (workload_->out_of_slots())
    listener.warn(
        fmt::format("the file system has inodes for {} files, and these fill less of it than you "
                    "asked for; make one with more inodes (mke2fs -i)",
                    format_count(slots_)));
  return {};
}

std::span<const std::uint64_t> Ageing::bitmap(GroupNumber group) {
  ager_->state().settled_words(group, words_);
  return words_;
}

}  // namespace e4r::app
