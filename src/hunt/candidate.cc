// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/candidate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "age/profile.h"
#include "allocator/policy.h"
#include "app/ageing.h"
#include "image/bitmaps.h"
#include "replay/load.h"
#include "state/buddy.h"
#include "util/output.h"
#include "util/rng.h"
#include "util/units.h"

namespace e4r::hunt {
namespace {

using age::Operation;
using Kind = Operation::Kind;

// The least number of free blocks for a hunt. Operations use nine tenths of the free blocks.
constexpr std::uint64_t kLeastRoom = 10;
std::uint64_t room_in(std::uint64_t free_blocks) {
  return free_blocks / kLeastRoom * (kLeastRoom - 1);
}

// Keeps track of the existing files and the free space.
class Drawer {
 public:
  Drawer(const Mix& mix, const Room& room)
      : mix_(mix), room_(room), rng_(mix.seed), free_(room_in(room.blocks)) {
    for (std::uint32_t slot = room.slots; slot > 0; --slot) vacant_.push_back(slot - 1);
  }

  std::vector<Operation> draw() {
    for (std::uint32_t i = 0; i < mix_.operations && written_ < room_.most; ++i) {
      if (!step()) break;
      if (mix_.sync_every > 0 && (i + 1) % mix_.sync_every == 0) sync();
    }
    if (out_.empty() || out_.back().kind != Kind::sync) sync();
    return std::move(out_);
  }

 private:
  struct File {
    std::uint32_t slot = 0;
    std::uint64_t bytes = 0;
  };

  // Draws one operation. Returns false if no further operation is possible.
  bool step() {
    const std::uint64_t die = rng_.below(100);
    if (die < mix_.removals && !files_.empty()) return remove();
    const bool append = die < std::uint64_t{mix_.removals} + mix_.appends && !files_.empty();
    if (!append && vacant_.empty()) return remove();
    const std::uint64_t bytes = draw_bytes();
    File fresh;
    File& file = append ? files_[rng_.below(files_.size())] : fresh;
    const std::uint64_t more = blocks_of(file.bytes + bytes) - blocks_of(file.bytes);
    if (more > free_) return remove();
    if (!append) {
      file.slot = vacant_.back();
      vacant_.pop_back();
    }
    out_.push_back({append ? Kind::append : Kind::write, file.slot, bytes});
    file.bytes += bytes;
    free_ -= more;
    written_ += more;
    if (!append) files_.push_back(file);
    return true;
  }

  // The file's blocks become free at the next sync.
  bool remove() {
    if (files_.empty()) return false;
    const std::size_t at = rng_.below(files_.size());
    out_.push_back({Kind::remove, files_[at].slot, 0});
    freed_ += blocks_of(files_[at].bytes);
    vacant_.push_back(files_[at].slot);
    files_[at] = files_.back();
    files_.pop_back();
    return true;
  }

  void sync() {
    out_.push_back({Kind::sync, 0, 0});
    free_ += freed_;
    freed_ = 0;
  }

  [[nodiscard]] std::uint64_t blocks_of(std::uint64_t bytes) const {
    return (bytes + room_.block_size - 1) / room_.block_size;
  }

  // Values near the middle are more likely.
  std::uint64_t draw_bytes() {
    constexpr std::uint64_t kSteps = 1024;
    const double away =
        (static_cast<double>(rng_.below(kSteps)) + static_cast<double>(rng_.below(kSteps))) /
            kSteps -
        1;
    const double bytes = static_cast<double>(mix_.file_kb * kKiB) * std::exp2(away * mix_.spread);
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(bytes), 1);
  }

  const Mix& mix_;
  const Room& room_;
  Rng rng_;
  std::uint64_t free_;
  std::uint64_t freed_ = 0;
  std::uint64_t written_ = 0;
  std::vector<File> files_;
  std::vector<std::uint32_t> vacant_;  // free slots; the last one is used next
  std::vector<Operation> out_;
};

}  // namespace

std::vector<age::Operation> draw_operations(const Mix& mix, const Room& room) {
  return Drawer(mix, room).draw();
}

namespace {

// The parameters that are not tunables, in the order in which they are chosen and printed.
enum Part : std::size_t {
  kSize,
  kBlockSize,
  kTurnover,
  kUtilisation,
  kProfile,
  kAgeSeed,
  kPiece,
  kGap,
  kOperations,
  kFileSize,
  kSpread,
  kAppends,
  kRemovals,
  kSyncEvery,
  kWriting,
  kDirectories,
  kSeed,
  kParts,
};

std::vector<std::uint64_t> first_numbers(std::uint64_t count) {
  std::vector<std::uint64_t> out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = i;
  return out;
}

std::vector<Parameter> file_system_parameters() {
  Parameter profile = {"profile", "", {}, {}, false, 0};
  for (const age::Profile& one : age::profiles()) {
    if (one.punch != 0) continue;  // this profile is for larger file systems than a hunt makes
    profile.values.push_back(profile.values.size());
    profile.words.push_back(one.name);
  }
  return {
      {"size",
       "MiB",
       {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536},
       {},
       false,
       0},
      {"block_size", "bytes", {4096, 2048, 1024}, {}, false, 0.6},
      {"turnover", "% of the size", {0, 10, 25, 50, 100, 200}, {}, false, 0.4},
      {"utilisation", "%", {50, 60, 70, 80, 90, 95}, {}, false, 0},
      std::move(profile),
      {"age_seed", "", first_numbers(32), {}, false, 0},
      {"free_extents_up_to",
       "blocks",
       {0,   2048, 1024, 900, 768, 600, 512, 400, 384, 300, 256, 192,
        128, 96,   64,   48,  32,  24,  16,  12,  8,   6,   4},
       {},
       false,
       0.3},
      {"gap", "blocks", {1, 2, 8, 16, 32, 64, 128, 256, 424, 512, 1024}, {}, false, 0.3},
  };
}

// The maximum number of operations, and of files, in a case.
constexpr std::uint64_t kMostOperations = 4096;

std::vector<Parameter> workload_parameters() {
  return {
      {"operations", "", {16, 32, 64, 128, 256, 512, 1024, 2048, kMostOperations}, {}, false, 0},
      {"file_size",
       "KiB",
       {4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384},
       {},
       false,
       0},
      {"spread", "powers of two", {0, 1, 2, 3, 4}, {}, false, 0.4},
      {"appends", "%", {0, 10, 25, 50, 75, 90}, {}, false, 0.3},
      {"removals", "%", {0, 10, 20, 30, 40, 50}, {}, false, 0.3},
      {"sync_every", "operations", {0, 1000, 500, 200, 100, 50, 20, 10, 5, 2, 1}, {}, false, 0},
      {"writing", "", {0, 1}, {"delalloc", "nodelalloc"}, false, 0},
      {"directories", "", {0, 1}, {"spread", "one"}, false, 0},
      {"seed", "", first_numbers(32), {}, false, 0},
  };
}

// Stands for the value that the mount sets.
constexpr std::uint64_t kAsMounted = UINT64_MAX;

std::vector<Parameter> tunable_parameters() {
  const auto tunable = [](const char* name, std::vector<std::uint64_t> values) {
    values.insert(values.begin(), kAsMounted);
    return Parameter{name, "", std::move(values), {}, true, 0.6};
  };
  std::vector<Parameter> out;
  out.push_back(tunable(
      "mb_stripe", {16, 32, 48, 64, 96, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024}));
  out.push_back(tunable("mb_group_prealloc", {64, 128, 256, 1024, 2048}));
  out.push_back(tunable("mb_stream_req", {1, 4, 64, 256}));
  out.push_back(tunable("mb_max_to_scan", {1, 10, 50, 1000}));
  out.push_back(tunable("mb_max_linear_groups", {4, 16, 64}));
  out.push_back(tunable("mb_order2_req", {4, 6, 9}));
  return out;
}

std::string names_of(const std::vector<Parameter>& parameters) {
  std::string out;
  for (const Parameter& parameter : parameters) out += (out.empty() ? "" : ", ") + parameter.name;
  return out;
}

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

// Builds an Origin from the parameters. `value` returns the value of a parameter.
template <typename Value>
Origin origin_of(const Value& value) {
  Origin origin;
  origin.bytes = value(kSize) * kMiB;
  origin.block_size = narrow(value(kBlockSize));
  origin.turnover = narrow(value(kTurnover));
  if (origin.turnover > 0) {  // these have no meaning for a new file system
    origin.utilisation = narrow(value(kUtilisation));
    origin.profile = value(kProfile);
    origin.age_seed = narrow(value(kAgeSeed));
  }
  origin.piece = narrow(value(kPiece));
  if (origin.piece > 0) origin.gap = narrow(value(kGap));
  return origin;
}

}  // namespace

Result<Space> Space::create(std::uint64_t largest, const std::vector<std::string>& tunables) {
  Space out;
  out.parameters_ = file_system_parameters();
  std::vector<std::uint64_t>& sizes = out.parameters_[kSize].values;
  if (largest < sizes[0] * kMiB)
    return error("{} is too small: give {} or more", format_size(largest),
                 format_size(sizes[0] * kMiB));
  std::erase_if(sizes, [largest](std::uint64_t size) { return size * kMiB > largest; });
  E4R_CHECK(out.add_workload(tunables));
  return out;
}

Result<Space> Space::on_one_start(const std::vector<std::string>& tunables) {
  Space out;
  out.has_origin_ = false;
  E4R_CHECK(out.add_workload(tunables));
  return out;
}

Status Space::add_workload(const std::vector<std::string>& tunables) {
  std::ranges::move(workload_parameters(), std::back_inserter(parameters_));
  std::vector<Parameter> known = tunable_parameters();
  for (const std::string& name : tunables) {
    const auto found = std::ranges::find(known, name, &Parameter::name);
    if (found == known.end()) return error("{}: choose from {}", name, names_of(known));
    parameters_.push_back(std::move(*found));
    known.erase(found);
  }
  return {};
}

Candidate Space::candidate(const Levels& levels) const {
  const std::size_t left_out = has_origin_ ? kSize : kOperations;  // parameters
  const auto value = [&](std::size_t part) {
    return parameters_[part - left_out].values[levels[part - left_out]];
  };
  Candidate out;
  if (has_origin_) out.origin = origin_of(value);
  out.mix = {.file_kb = value(kFileSize),
             .spread = narrow(value(kSpread)),
             .appends = narrow(value(kAppends)),
             .removals = narrow(value(kRemovals)),
             .sync_every = narrow(value(kSyncEvery)),
             .operations = narrow(value(kOperations)),
             .seed = narrow(value(kSeed))};
  out.writing = value(kWriting) == 0 ? age::Writing::delayed : age::Writing::direct;
  out.one_directory = value(kDirectories) == 1;
  for (std::size_t i = kParts - left_out; i < parameters_.size(); ++i)
    if (levels[i] != 0) out.settings.push_back(text(i, levels[i]));
  return out;
}

Levels Space::levels(std::span<const double> point) const {
  Levels out(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const double count = static_cast<double>(parameter.values.size());
    const double plain = std::max(parameter.plain, 1 / count);
    const double at = std::clamp(point[i], 0.0, 1.0);
    const double level = at < plain ? 0 : 1 + (at - plain) / (1 - plain) * (count - 1);
    out[i] = static_cast<std::uint32_t>(std::min(level, count - 1));
  }
  return out;
}

std::string Space::text(std::size_t index, std::uint32_t level) const {
  const Parameter& parameter = parameters_[index];
  const std::uint64_t value = parameter.values[level];
  if (parameter.tunable)
    return level == 0 ? parameter.name + " as mounted"
                      : fmt::format("{}={}", parameter.name, value);
  if (!parameter.words.empty()) return parameter.words[value];
  return parameter.unit.empty() ? fmt::format("{}", value)
                                : fmt::format("{} {}", value, parameter.unit);
}

namespace {

namespace bitmap = state::bitmap;

constexpr double kPercent = 100;

std::vector<std::uint64_t> copy_of(bitmap::ConstWords words) {
  return {words.begin(), words.end()};
}

// Ages the file system under 6.1's allocator and returns its bitmaps.
Result<std::vector<std::vector<std::uint64_t>>> age_bitmaps(const image::Image& image,
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

// Cuts each free extent into pieces that are separated by used blocks.
void cut(bitmap::Words words, std::uint32_t limit, std::uint32_t piece, std::uint32_t gap) {
  bitmap::for_each_clear_run(words, limit, [&](std::uint32_t start, std::uint32_t end) {
    for (std::uint64_t cut = std::uint64_t{start} + piece; cut < end; cut += piece + gap)
      bitmap::set_range(words, static_cast<std::uint32_t>(cut),
                        std::min(gap, end - static_cast<std::uint32_t>(cut)));
  });
}

// Returns the facts about a new file system.
StartFacts facts_of(const image::Image& image) {
  const image::SuperblockInfo& superblock = image.superblock();
  const std::uint32_t first = std::max(superblock.first_inode, 11u) + 1;  // after lost+found
  StartFacts out;
  out.path = image.path();
  out.source = replay::source_from(image);
  out.free_inodes.resize(superblock.inodes_count - first + 1);
  std::iota(out.free_inodes.begin(), out.free_inodes.end(), first);
  out.tunables = allocator::defaults_for(out.source.geometry);
  return out;
}

}  // namespace

Start::Start(std::shared_ptr<const image::Image> image,
             std::vector<std::vector<std::uint64_t>> bitmaps, StartFacts facts)
    : image_(std::move(image)),
      bitmaps_(std::move(bitmaps)),
      image_path_(std::move(facts.path)),
      source_(std::move(facts.source)),
      tunables_(facts.tunables),
      neighbours_(std::move(facts.free_inodes)),
      spread_(app::spread(neighbours_, image_->superblock(), source_.geometry)) {
  for (auto* inodes : {&neighbours_, &spread_}) {
    inodes->resize(std::min<std::size_t>(inodes->size(), kMostOperations));
    inodes->shrink_to_fit();
  }
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
  if (bitmaps_.empty()) return image_path_;
  if (!file_.is_open()) {
    E4R_TRY(file_, image::anonymous_with_bitmaps(
                       image_path_, temporary_directory(),
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

Status Starts::use(const std::string& image, unsigned threads, const app::Listener& listener) {
  image::OpenOptions open;
  open.threads = threads;
  E4R_TRY(app::StartImage start, app::open_start(image, open, listener));
  if (start.source.geometry.cluster_bits != 0)
    return error("{}: is a bigalloc file system, and a hunt does not support these", image);
  StartFacts facts;
  facts.path = start.opened.path;
  facts.source = std::move(start.source);
  facts.tunables = allocator::defaults_for(facts.source.geometry);
  E4R_TRY(const std::string from, app::take_start_tunables({}, start.opened, facts.tunables));
  E4R_TRY(facts.free_inodes, app::free_inodes(start.opened.image, UINT64_MAX));
  const std::size_t inodes = facts.free_inodes.size();
  const auto opened = std::make_shared<app::OpenedImage>(std::move(start.opened));
  only_ =
      std::make_shared<const Start>(std::shared_ptr<const image::Image>(opened, &opened->image),
                                    std::vector<std::vector<std::uint64_t>>(), std::move(facts));
  const std::uint64_t blocks = only_->free_blocks();
  if (room_in(blocks) == 0 || inodes == 0)
    return error("{}: {} blocks and {} inodes are free: a hunt needs {} blocks and an inode", image,
                 format_count(blocks), format_count(inodes), kLeastRoom);
  return {};
}

Result<std::shared_ptr<const Start>> Starts::make(const Origin& origin) {
  if (only_) return only_;
  E4R_TRY(auto image, image_of(origin.bytes, origin.block_size));
  std::vector<std::vector<std::uint64_t>> bitmaps;
  if (origin.turnover > 0) {
    auto old = age_bitmaps(*image, origin);
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
  StartFacts facts = facts_of(*image);
  return std::make_shared<const Start>(std::move(image), std::move(bitmaps), std::move(facts));
}

}  // namespace e4r::hunt
