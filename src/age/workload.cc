// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/workload.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>

#include "ext4/geometry.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::age {
namespace {

// How many candidates are examined to find the file to remove.
constexpr int kCandidates = 8;

// Each file has a fixed random frailty. If files to remove were drawn evenly from their step of
// ages, hardly any file would reach the next step, because far more files are created than remain.
std::uint64_t frailty(std::uint64_t birth) {
  return Rng(birth).next();
}

}  // namespace

Population::Population(const std::vector<Step>& ages) : shares_(ages) {
  double all = 0;
  for (const Step& step : shares_) all += step.weight;
  for (Step& step : shares_) {
    step.limit /= ages.back().limit;
    step.weight /= all;
  }
}

void Population::add(std::uint32_t slot) {
  if (births_.size() > 2 * alive_ + kSpare) forget_deleted();
  births_.push_back({made_++, slot, true});
  ++alive_;
  // A new node of the Fenwick tree counts itself and the nodes below it.
  const std::size_t at = births_.size();
  std::uint32_t sum = 1;
  for (std::size_t below = at - 1; below > at - (at & -at); below -= below & -below)
    sum += sums_[below - 1];
  sums_.push_back(sum);
}

void Population::forget_deleted() {
  std::erase_if(births_, [](const Birth& birth) { return !birth.alive; });
  sums_.assign(births_.size(), 0);
  for (std::size_t at = 1; at <= sums_.size(); ++at) {
    ++sums_[at - 1];
    const std::size_t above = at + (at & -at);
    if (above <= sums_.size()) sums_[above - 1] += sums_[at - 1];
  }
}

// The number of living files among the first `count` births.
std::uint64_t Population::alive_among(std::size_t count) const {
  std::uint64_t sum = 0;
  for (; count > 0; count -= count & -count) sum += sums_[count - 1];
  return sum;
}

// The index of the n-th living file, from 0.
std::size_t Population::nth_alive(std::uint64_t n) const {
  std::size_t at = 0;
  std::size_t step = 1;
  while (step * 2 <= sums_.size()) step *= 2;
  for (; step > 0; step /= 2) {
    if (at + step > sums_.size() || sums_[at + step - 1] > n) continue;
    at += step;
    n -= sums_[at - 1];
  }
  return at;
}

std::uint32_t Population::any(Rng& rng) const {
  return births_[nth_alive(rng.below(alive_))].slot;
}

// Returns the number of living files whose age is more than `share` of the total time.
std::uint64_t Population::older_than(double share) const {
  const auto moment = static_cast<std::uint64_t>(static_cast<double>(made_) * (1 - share));
  const auto at = std::partition_point(births_.begin(), births_.end(),
                                       [&](const Birth& birth) { return birth.number < moment; });
  return alive_among(static_cast<std::size_t>(at - births_.begin()));
}

std::uint32_t Population::take(Rng& rng) {
  // The youngest files come last, so each step of ages ends where the previous step begins.
  std::uint64_t end = alive_, best_first = 0, best_count = alive_;
  double worst = -2;
  for (const Step& step : shares_) {
    const std::uint64_t first = &step == &shares_.back() ? 0 : older_than(step.limit);
    const std::uint64_t count = end - std::min(end, first);
    const double excess = static_cast<double>(count) / static_cast<double>(alive_) - step.weight;
    if (count > 0 && excess > worst) {
      worst = excess;
      best_first = first;
      best_count = count;
    }
    end = std::min(end, first);
  }
  std::size_t at = nth_alive(best_first + rng.below(best_count));
  for (int more = 1; more < kCandidates; ++more) {
    const std::size_t other = nth_alive(best_first + rng.below(best_count));
    if (frailty(births_[other].number) > frailty(births_[at].number)) at = other;
  }
  births_[at].alive = false;
  for (std::size_t node = at + 1; node <= sums_.size(); node += node & -node) --sums_[node - 1];
  --alive_;
  return births_[at].slot;
}

namespace {

// A file uses at most 1/kLargestShare of the room, because a single file cannot age a file system.
constexpr std::uint64_t kLargestShare = 64;
// The number of freed clusters that wait for a commit may reach 1/kWaitingShare of the other free
// clusters.
constexpr std::uint64_t kWaitingShare = 4;

// The text form of a kind: a letter, and the numbers that follow it.
struct Form {
  char letter = 0;
  bool slot = false, offset = false, bytes = false;
};
constexpr std::array<Form, kOperationKinds> kForms = {{
    // In the order of Kind.
    {'w', true, false, true},
    {'a', true, false, true},
    {'r', true, false, false},
    {'s', false, false, false},
    {'W', true, true, true},
    {'D', true, true, true},
    {'f', true, true, true},
    {'k', true, true, true},
    {'p', true, true, true},
    {'y', true, false, false},
    {'c', true, false, false},
}};

// Removes a blank and a number from the front of `rest`. Returns false if they are missing or the
// number exceeds `most`.
bool take_number(std::string_view& rest, std::uint64_t& number, std::uint64_t most) {
  if (!rest.starts_with(' ')) return false;
  const auto [end, ec] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
  if (ec != std::errc() || number > most) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

}  // namespace

std::string text_of(const Operation& operation) {
  const Form& form = kForms[static_cast<std::size_t>(operation.kind)];
  std::string out(1, form.letter);
  if (form.slot) out += fmt::format(" {}", operation.slot);
  if (form.offset) out += fmt::format(" {}", operation.offset);
  if (form.bytes) out += fmt::format(" {}", operation.bytes);
  return out;
}

Result<Operation> parse_operation(std::string_view line) {
  const auto form = std::ranges::find(kForms, line.empty() ? '\0' : line.front(), &Form::letter);
  std::string_view rest = line.substr(std::min<std::size_t>(line.size(), 1));
  Operation out;
  std::uint64_t slot = 0;
  if (form == kForms.end() || (form->slot && !take_number(rest, slot, UINT32_MAX)) ||
      (form->offset && !take_number(rest, out.offset, UINT64_MAX)) ||
      (form->bytes && !take_number(rest, out.bytes, UINT64_MAX)) || !rest.empty() ||
      (form->offset && out.bytes == 0))
    return error("'{}' is not an operation: docs/ageing.md lists them", printable(line));
  out.kind = static_cast<Operation::Kind>(form - kForms.begin());
  out.slot = static_cast<std::uint32_t>(slot);
  return out;
}

Result<Until> parse_until(const std::string& text) {
  Until out;
  std::istringstream parts(text);
  bool any = false;
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream words(part);
    std::string key, value, more;
    words >> key >> value;
    if (value.ends_with('x')) value.pop_back();
    double number = 0;
    const auto [end, ec] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool is_number = ec == std::errc() && end == value.data() + value.size();
    if (!is_number || words >> more || (key != "utilisation" && key != "turnover"))
      return error("'{}': give 'utilisation 0.8', 'turnover 10x', or both with a comma", text);
    if (key == "utilisation" && !(number > 0 && number <= 0.97))
      return error("utilisation {}: give a share above 0, up to 0.97", value);
    if (key == "turnover" && !(number >= 0 && number <= 10000))
      return error("turnover {}: give 0 to 10000 file system sizes", value);
    (key == "utilisation" ? out.utilisation : out.turnover) = number;
    any = true;
  }
  if (!any) return error("give 'utilisation 0.8', 'turnover 10x', or both with a comma");
  return out;
}

std::uint64_t room_of(const AgeingWorkloadOptions& options) {
  const auto top =
      static_cast<std::uint64_t>(options.until.utilisation * static_cast<double>(options.clusters));
  return top - std::min(top, options.used);
}

std::uint64_t wanted_of(const AgeingWorkloadOptions& options) {
  return static_cast<std::uint64_t>(options.until.turnover *
                                    static_cast<double>(options.clusters)) *
         options.cluster_size;
}

Status check_room(const AgeingWorkloadOptions& options) {
  if (room_of(options) == 0)
    return error("{:.1f} % of the blocks are in use already: no room for files up to {:.1f} %",
                 100.0 * static_cast<double>(options.used) / static_cast<double>(options.clusters),
                 100 * options.until.utilisation);
  if (options.slots == 0) return error("no slots: there is no inode to write to");
  return {};
}

Result<AgeingWorkload> AgeingWorkload::create(const Profile& profile,
                                              const AgeingWorkloadOptions& options) {
  E4R_CHECK(check_room(options));
  return AgeingWorkload(profile, options);
}

AgeingWorkload::AgeingWorkload(const Profile& profile, const AgeingWorkloadOptions& options)
    : profile_(profile),
      options_(options),
      rng_(options.seed),
      files_(profile.ages),
      sizes_(options.slots, 0),
      vacant_(options.slots) {
  std::iota(vacant_.rbegin(), vacant_.rend(), 0u);
  for (const Step& step : profile_.sizes) weights_ += step.weight;
  room_ = room_of(options);
  largest_ = std::max<std::uint64_t>(room_ / kLargestShare, 1) * options.cluster_size;
  wanted_ = wanted_of(options);
}

std::uint64_t AgeingWorkload::clusters_of(std::uint64_t bytes) const {
  return (bytes + options_.cluster_size - 1) / options_.cluster_size;
}

// Chooses a step by weight, and a size within its limits that is evenly distributed on a
// logarithmic scale.
std::uint64_t AgeingWorkload::draw_size() {
  const auto uniform = [this] { return static_cast<double>(rng_.next() >> 11) * 0x1p-53; };
  double ticket = uniform() * weights_;
  std::size_t at = 0;
  while (at + 1 < profile_.sizes.size() && ticket >= profile_.sizes[at].weight)
    ticket -= profile_.sizes[at++].weight;
  const double high = profile_.sizes[at].limit;
  const double low = at == 0 ? high / 2 : std::max(profile_.sizes[at - 1].limit, 1.0);
  if (high < 1) return 0;
  const double drawn = low >= high ? high : low * std::exp2(uniform() * std::log2(high / low));
  return std::min(static_cast<std::uint64_t>(drawn), largest_);
}

void AgeingWorkload::write(Operation& operation, std::uint32_t slot, std::uint64_t bytes) {
  const std::uint64_t before = clusters_of(sizes_[slot]);
  operation = {sizes_[slot] == 0 ? Operation::Kind::write : Operation::Kind::append, slot, bytes};
  sizes_[slot] += bytes;
  const std::uint64_t more = clusters_of(sizes_[slot]) - before;
  taken_ += more;
  written_ += more * options_.cluster_size;
}

void AgeingWorkload::create_one(Operation& operation) {
  const std::uint32_t slot = vacant_.back();
  vacant_.pop_back();
  files_.add(slot);
  write(operation, slot, draw_size());
}

// Appends to a file or rewrites it. Returns false if no file exists or the file is large enough.
bool AgeingWorkload::change_one(Operation& operation) {
  const double all = profile_.append_share + profile_.rewrite_share;
  const double ticket = static_cast<double>(rng_.next() >> 11) * 0x1p-53;
  if (ticket >= all || files_.size() == 0) return false;
  const std::uint32_t slot = files_.any(rng_);
  if (ticket < profile_.append_share) {
    const std::uint64_t bytes = draw_size();
    if (sizes_[slot] + bytes > largest_) return false;
    write(operation, slot, bytes);
    return true;
  }
  rewriting_ = slot;
  operation = {Operation::Kind::remove, slot, 0};
  freed_ += clusters_of(sizes_[slot]);
  taken_ -= clusters_of(sizes_[slot]);
  sizes_[slot] = 0;
  return true;
}

void AgeingWorkload::remove_one(Operation& operation) {
  const std::uint32_t slot = files_.take(rng_);
  operation = {Operation::Kind::remove, slot, 0};
  freed_ += clusters_of(sizes_[slot]);
  taken_ -= clusters_of(sizes_[slot]);
  sizes_[slot] = 0;
  vacant_.push_back(slot);
}

bool AgeingWorkload::next(Operation& operation) {
  if (ended_) return false;
  const bool full = taken_ >= room_ || vacant_.empty();
  const std::uint64_t free =
      options_.clusters - std::min(options_.clusters, options_.used + taken_);
  const bool end = full && rewriting_ == kNone && written_ >= wanted_;
  if (end || static_cast<double>(since_sync_) >= profile_.sync_every ||
      freed_ * kWaitingShare > free) {
    operation = {};
    since_sync_ = freed_ = 0;
    ended_ = end;
    return true;
  }
  ++since_sync_;
  if (rewriting_ != kNone) {
    write(operation, std::exchange(rewriting_, kNone), draw_size());
  } else if (full) {
    remove_one(operation);
  } else if (!change_one(operation)) {
    create_one(operation);
  }
  return true;
}

namespace {

using Kind = Operation::Kind;

bool writes(Kind kind) {
  return kind == Kind::write || kind == Kind::append || kind == Kind::write_at ||
         kind == Kind::direct;
}

// How a file has been written since it was last empty.
struct File {
  enum class Writing : std::uint8_t { none, at_end, at_offsets };
  Writing writing = Writing::none;
  std::uint64_t bytes = 0;
  bool named = false;  // an operation gave it data or space
};

// Parses and checks operations in order.
class Reader {
 public:
  explicit Reader(const FileLimits& limits)
      : limits_(limits), most_bytes_(kMaxFileBlocks * limits.block_size), files_(limits.files) {}

  // Reads one operation. The Error does not name the line.
  Result<Operation> read(std::string_view line) {
    E4R_TRY(const Operation operation, parse_operation(line));
    if (operation.kind == Kind::sync) return operation;
    if (operation.slot >= limits_.files)
      return error("slot {}: only slots 0 to {} have inodes", operation.slot, limits_.files - 1);
    File& file = files_[operation.slot];
    file.named |=
        writes(operation.kind) || operation.kind == Kind::extend || operation.kind == Kind::reserve;
    switch (operation.kind) {
      case Kind::remove:
        file = {.named = file.named};
        break;
      case Kind::write:
      case Kind::append:
        E4R_CHECK(grow(operation, file));
        break;
      case Kind::flush:
      case Kind::close:
        break;
      default:
        E4R_CHECK(reach(operation, file));
    }
    return operation;
  }

  [[nodiscard]] std::uint64_t files() const {
    return static_cast<std::uint64_t>(std::ranges::count(files_, true, &File::named));
  }

 private:
  Status grow(const Operation& operation, File& file) const {
    if (file.writing == File::Writing::at_offsets)
      return error("slot {}: has been written at offsets: give an offset, or remove the file first",
                   operation.slot);
    if (operation.kind == Kind::write && file.bytes != 0)
      return error("slot {}: is not empty: append to it (a), or remove it first (r)",
                   operation.slot);
    if (operation.bytes > most_bytes_ - file.bytes) return too_large(operation);
    file.bytes += operation.bytes;
    file.writing = File::Writing::at_end;
    return {};
  }

  Status reach(const Operation& operation, File& file) const {
    if (file.writing == File::Writing::at_end)
      return error("slot {}: has been written at its end: append to it (a), or remove it first",
                   operation.slot);
    if (operation.offset > most_bytes_ || operation.bytes > most_bytes_ - operation.offset)
      return too_large(operation);
    file.writing = File::Writing::at_offsets;
    return {};
  }

  Error too_large(const Operation& operation) const {
    return error("slot {}: a file has at most {} with blocks of {}", operation.slot,
                 format_size(most_bytes_), format_size(limits_.block_size));
  }

  const FileLimits limits_;
  const std::uint64_t most_bytes_;
  std::vector<File> files_;
};

}  // namespace

Result<std::unique_ptr<Drawing>> ListedWorkload::read(std::string_view text,
                                                      const std::string& from,
                                                      const FileLimits& limits) {
  auto out = std::make_unique<ListedWorkload>();
  Reader reader(limits);
  std::uint64_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number;
    const auto operation = reader.read(line);
    if (!operation.ok()) return error("{}: line {}: {}", from, number, operation.error().message);
    if (writes(operation->kind) &&
        __builtin_add_overflow(out->wanted_, operation->bytes, &out->wanted_))
      return error("{}: line {}: more bytes than can be counted are written: give less to write",
                   from, number);
    out->operations_.push_back(*operation);
  }
  if (out->operations_.empty())
    return error("{}: has no operations: give a file that `age --write-operations` has written",
                 from);
  out->files_ = reader.files();
  if (out->operations_.back().kind != Kind::sync) out->operations_.emplace_back();
  return std::unique_ptr<Drawing>(std::move(out));
}

bool ListedWorkload::next(Operation& operation) {
  if (at_ == operations_.size()) return false;
  operation = operations_[at_++];
  if (writes(operation.kind)) written_ += operation.bytes;
  return true;
}

}  // namespace e4r::age
