// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/lazy_init.h"

#include <algorithm>

namespace e4r::watch {

std::optional<double> LazyInitProgress::seconds_left() const {
  if (!runs || !groups_per_s) return std::nullopt;
  return static_cast<double>(groups_left) / *groups_per_s;
}

std::uint64_t uninitialised_groups(const image::Image& image) {
  if (!image.superblock().features.group_checksums()) return 0;
  return static_cast<std::uint64_t>(
      std::ranges::count(image.groups(), false, &image::GroupInfo::itable_zeroed));
}

bool lets_lazy_init_run(const std::string& mount_options) {
  return ("," + mount_options + ",").find(",noinit_itable,") == std::string::npos;
}

void LazyInitPace::see(Clock::time_point now, std::uint64_t groups_left) {
  constexpr std::chrono::seconds kWindow{60};
  // Drops the earlier counts if the count has grown: a resize adds groups, and a new mount starts
  // over.
  if (!seen_.empty() && groups_left > seen_.back().second) seen_.clear();
  seen_.emplace_back(now, groups_left);
  while (seen_.size() > 2 && seen_[1].first + kWindow <= now) seen_.pop_front();
}

std::optional<double> LazyInitPace::groups_per_s() const {
  if (seen_.empty() || seen_.front().second == seen_.back().second) return std::nullopt;
  const std::chrono::duration<double> time = seen_.back().first - seen_.front().first;
  return static_cast<double>(seen_.front().second - seen_.back().second) / time.count();
}

void LazyInit::start(const image::Image& image, const record::Volume& volume) {
  if (reading_.valid()) reading_.wait();
  reading_ = {};
  device_ = volume.device_path;
  progress_ = LazyInitProgress{.runs = volume.mount && lets_lazy_init_run(volume.mount->options)};
  note(Clock::now(), uninitialised_groups(image));
}

void LazyInit::look() {
  constexpr std::chrono::seconds kEvery{1};
  constexpr int kShare = 50;
  if (!progress_) return;
  if (reading_.valid()) {
    if (reading_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    const Reading read = reading_.get();
    due_ = read.ended + std::max<Clock::duration>(kEvery, kShare * (read.ended - read.began));
    // A failure is ignored: a superblock that the kernel is changing at this moment has a wrong
    // checksum.
    if (read.groups_left.ok()) note(read.ended, *read.groups_left);
  }
  if (progress_->groups_left == 0 || Clock::now() < due_) return;
  reading_ = std::async(std::launch::async, read, device_);
}

LazyInit::Reading LazyInit::read(const std::string& device) {
  const Clock::time_point began = Clock::now();
  const auto image = image::Image::open(device, {.load_bitmaps = false});
  const auto left = image.ok() ? Result<std::uint64_t>(uninitialised_groups(*image))
                               : Result<std::uint64_t>(image.error());
  return {left, began, Clock::now()};
}

void LazyInit::note(Clock::time_point now, std::uint64_t groups_left) {
  pace_.see(now, groups_left);
  progress_->groups_left = groups_left;
  progress_->groups_per_s = pace_.groups_per_s();
}

}  // namespace e4r::watch
