// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/start.h"

#include "age/profile.h"
#include "allocator/policy.h"
#include "app/ageing.h"
#include "image/write_bitmaps.h"
#include "replay/load.h"
#include "state/bitmap.h"
#include "util/output.h"

namespace e4r::hunt {
namespace {

namespace bitmap = state::bitmap;

constexpr double kPercent = 100;

std::vector<std::uint64_t> copy_of(bitmap::ConstWords words) {
  return {words.begin(), words.end()};
}

// Ages the file system under 6.1's allocator and returns its bitmaps.
Result<std::vector<std::vector<std::uint64_t>>> aged(const image::Image& image,
                                                     const Origin& origin) {
  app::AgeingOptions options;
  options.profile = age::profiles()[origin.profile];
  options.until = {.utilisation = origin.utilisation / kPercent,
                   .turnover = origin.turnover / kPercent};
  options.seed = origin.age_seed;
  options.policy = allocator::find_policy("legacy");
  E4R_TRY(const auto ageing,
          app::Ageing::begin(image, image.path(), "the file system", std::move(options)));
  Progress silent(false);
  E4R_CHECK(ageing->run({silent, [](const std::string&) {}}, {}));
  std::vector<std::vector<std::uint64_t>> out;
  for (GroupNumber group = 0; group < image.groups().size(); ++group)
    out.push_back(copy_of(ageing->bitmap(group)));
  return out;
}

// Cuts each free extent into pieces with used blocks between them.
void cut(bitmap::Words words, std::uint32_t limit, std::uint32_t piece, std::uint32_t gap) {
  bitmap::for_each_clear_run(words, limit, [&](std::uint32_t start, std::uint32_t end) {
    for (std::uint64_t cut = std::uint64_t{start} + piece; cut < end; cut += piece + gap)
      bitmap::set_range(words, static_cast<std::uint32_t>(cut),
                        std::min(gap, end - static_cast<std::uint32_t>(cut)));
  });
}

}  // namespace

Start::Start(std::shared_ptr<const image::Image> image,
             std::vector<std::vector<std::uint64_t>> bitmaps)
    : image_(std::move(image)),
      bitmaps_(std::move(bitmaps)),
      source_(replay::source_from(*image_)) {
  for (GroupNumber group = 0; group < bitmaps_.size(); ++group) {
    state::GroupSource& of = source_.groups[group];
    of.words = bitmaps_[group];
    of.disk_free = of.init_free =
        bitmap::count_clear(of.words, source_.geometry.clusters_in(group));
    of.block_uninit = false;
  }
}

std::uint64_t Start::free_blocks() const {
  std::uint64_t out = 0;
  for (const state::GroupSource& group : source_.groups) out += group.init_free;
  return out;
}

Result<std::string> Start::path() const {
  const std::scoped_lock lock(mutex_);
  if (bitmaps_.empty()) return image_->path();
  if (!file_.is_open()) {
    E4R_TRY(file_, image::anonymous_with_bitmaps(
                       image_->path(), temporary_directory(),
                       [this](GroupNumber group) { return bitmap::ConstWords(bitmaps_[group]); }));
  }
  return file_.path();
}

Result<std::shared_ptr<const image::Image>> Starts::image_of(std::uint64_t bytes,
                                                             std::uint32_t block_size) {
  const std::scoped_lock lock(mutex_);
  auto& found = images_[{bytes, block_size}];
  if (!found) {
    E4R_TRY(const std::string path, make_(bytes, block_size));
    E4R_TRY(image::Image image, image::Image::open(path, {.strict = true, .threads = 1}));
    found = std::make_shared<const image::Image>(std::move(image));
  }
  return found;
}

Result<std::shared_ptr<const Start>> Starts::make(const Origin& origin) {
  E4R_TRY(auto image, image_of(origin.bytes, origin.block_size));
  std::vector<std::vector<std::uint64_t>> bitmaps;
  if (origin.turnover > 0) {
    auto old = aged(*image, origin);
    if (!old.ok() && old.error().message == "stopped") return old.error();
    if (!old.ok()) return std::shared_ptr<const Start>();
    bitmaps = *std::move(old);
  }
  if (origin.piece > 0) {
    for (GroupNumber group = 0; bitmaps.size() < image->groups().size(); ++group)
      bitmaps.push_back(copy_of(image->bitmap(group)));
    const std::uint32_t limit = image->superblock().clusters_per_group;
    for (auto& words : bitmaps) cut(words, limit, origin.piece, origin.gap);
  }
  return std::make_shared<const Start>(std::move(image), std::move(bitmaps));
}

}  // namespace e4r::hunt
