// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/job.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <sstream>

#include "age/profile.h"
#include "util/units.h"

namespace e4r::age {
namespace {

constexpr std::uint64_t kMostWriters = 1024;
constexpr std::uint64_t kMostWrites = 20'000'000;
constexpr std::uint64_t kMostBlocks = UINT32_MAX;  // per file

// Returns the number of writes of `bs` bytes that are needed to write `bytes` bytes.
std::uint64_t parts(std::uint64_t bytes, std::uint64_t bs) {
  return bytes / bs + (bytes % bs != 0 ? 1 : 0);
}

// Returns a * b, or nullopt on overflow.
std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

Status check_sizes(const Job& job, const FileLimits& limits) {
  if (job.writers == 0 || job.writers > kMostWriters)
    return error("{} writers: give 1 to {}", job.writers, format_count(kMostWriters));
  if (job.files == 0) return error("no files: give at least one");
  if (job.size == 0) return error("files without a size: give one, such as 64K");
  if (job.bs == 0) return error("writes of 0 bytes: give a block size, such as 4K");
  const std::uint64_t most = kMostBlocks * limits.block_size;
  if (job.size > most || job.offset > most - job.size || job.ahead > most)
    return error("a file beyond {}: a file has at most {} with blocks of {}",
                 format_size(std::max({job.size, job.offset, job.ahead})), format_size(most),
                 format_size(limits.block_size));
  return {};
}

// The number of writes of the job, or nullopt on overflow.
std::optional<std::uint64_t> writes_of(const Job& job) {
  const auto once = product(parts(job.size, job.bs), job.split ? 1 : job.writers);
  auto out = once ? product(*once, job.files) : std::nullopt;
  if (job.io != 0) out = product(parts(job.io, job.bs), job.writers);
  if (!job.laid_out || !out) return out;
  const auto laid = product(parts(job.size, job.bs), job.all_files());
  return laid && *laid <= kMostWrites ? std::optional(*out + *laid) : std::nullopt;
}

}  // namespace

Status check_jobs(const std::vector<Job>& jobs, const FileLimits& limits) {
  std::uint64_t files = 0, writes = 0, writers = 0;
  for (const Job& job : jobs) {
    const std::string whose = job.name.empty() ? "" : job.name + ": ";
    if (const Status sizes = check_sizes(job, limits); !sizes.ok())
      return error("{}{}", whose, sizes.error().message);
    // The number of writers is small, so this product does not overflow.
    const auto more =
        job.split || job.shared ? std::optional(job.files) : product(job.files, job.writers);
    if (!more || *more > limits.files - files)
      return error(
          "{}{} files, and {} inodes are free: give fewer files, or a file system with more inodes",
          whose, more ? format_count(*more) : "too many", format_count(limits.files - files));
    files += *more;
    writers += job.writers;
    const auto count = writes_of(job);
    const bool orders_too_many = job.random && parts(job.size, job.bs) > kMostWrites;
    if (!count || *count > kMostWrites - writes || orders_too_many)
      return error("{}more than {} writes: give larger writes (bs), or less to write", whose,
                   format_count(kMostWrites));
    writes += *count;
  }
  if (writers > kMostWriters)
    return error("{} writers in all: give at most {}", format_count(writers),
                 format_count(kMostWriters));
  return {};
}

JobWorkload::JobWorkload(std::vector<Job> jobs) : jobs_(std::move(jobs)) {
  std::uint64_t phase = 0;
  for (const Job& job : jobs_) {
    if (job.waits && !all_.empty()) ++phase;
    add_job(job, phase);
  }
}

void JobWorkload::add_job(const Job& job, std::uint64_t phase) {
  for (std::uint64_t number = 0; number < job.writers; ++number) {
    Writer& writer = all_.emplace_back();
    writer.job = &job;
    writer.number = static_cast<std::uint32_t>(all_.size() - 1);
    writer.phase = phase;
    writer.files.resize(job.files_of(number));
    writer.left = job.io != 0 ? job.io : writer.files.size() * job.size;
    wanted_ += writer.left;
    writer.done = writer.files.empty();
    for (std::size_t i = 0; i < writer.files.size(); ++i) {
      // Slots are numbered in the order in which files are created.
      const std::uint64_t place = job.shared  ? i
                                  : job.split ? i * job.writers + number
                                              : number * job.files + i;
      writer.files[i].slot = files_ + static_cast<std::uint32_t>(place);
    }
  }
  files_ += static_cast<std::uint32_t>(job.all_files());
}

std::uint64_t JobWorkload::parts_of(const Job& job) {
  return parts(job.size, job.bs);
}

void JobWorkload::queue(Operation::Kind kind, const Writer& writer, const File& file,
                        std::uint64_t offset, std::uint64_t bytes) {
  queue_.push_back({kind, file.slot, bytes, offset, writer.number});
}

// Allocates space for the whole file if its program requests that.
void JobWorkload::give_space(const Writer& writer, const File& file) {
  using Kind = Operation::Kind;
  const Job& job = *writer.job;
  if (job.space != Job::Space::extend && job.space != Job::Space::reserve) return;
  const Kind kind = job.space == Job::Space::extend ? Kind::extend : Kind::reserve;
  queue(kind, writer, file, 0, job.offset + job.size);
}

// Creates the writer's files before any job begins, as fio does.
void JobWorkload::set_up(const Writer& writer) {
  const Job& job = *writer.job;
  using Kind = Operation::Kind;
  const bool is_first = &writer == all_.data() || std::prev(&writer)->job != writer.job;
  if (!job.created_first || (job.shared && !is_first)) return;
  for (const File& file : writer.files) {
    const std::uint64_t all = job.offset + job.size;
    give_space(writer, file);
    for (std::uint64_t at = 0; job.laid_out && at < all; at += job.bs)
      queue(Kind::write_at, writer, file, at, std::min(job.bs, all - at));
    if (job.laid_out) queue(Kind::flush, writer, file);
    queue(Kind::close, writer, file);
  }
}

void JobWorkload::close(const Writer& writer, File& file) {
  if (!file.open) return;
  file.open = false;
  if (writer.job->end_fsync) queue(Operation::Kind::flush, writer, file);
  queue(Operation::Kind::close, writer, file);
}

void JobWorkload::finish(Writer& writer) {
  writer.done = true;
  for (File& file : writer.files) {
    close(writer, file);
    file.order = {};
  }
}

// Draws one write of the writer, with the operations that its program does before and after it.
void JobWorkload::step(Writer& writer) {
  using Kind = Operation::Kind;
  const Job& job = *writer.job;
  File& file = writer.files[writer.file];
  const std::uint64_t all = parts_of(job);
  if (job.random && file.order.empty()) {
    file.order.resize(all);
    std::iota(file.order.begin(), file.order.end(), 0u);
    Rng rng(job.seed + file.slot + (std::uint64_t{writer.number} << 32));
    for (std::size_t i = all; i > 1; --i) std::swap(file.order[i - 1], file.order[rng.below(i)]);
  }
  const std::uint64_t part = job.random ? file.order[file.at % all] : file.at % all;
  const std::uint64_t from = part * job.bs;
  const std::uint64_t bytes = std::min({job.bs, job.size - from, writer.left});
  const std::uint64_t at = job.offset + from;
  if (!file.open && !job.created_first) give_space(writer, file);
  file.open = true;
  for (; job.space == Job::Space::ahead && file.space < at + bytes; file.space += job.ahead)
    queue(Kind::reserve, writer, file, file.space, job.ahead);
  queue(job.direct ? Kind::direct : Kind::write_at, writer, file, at, bytes);
  if (job.fsync != 0 && ++writer.writes % job.fsync == 0) queue(Kind::flush, writer, file);
  ++file.at;
  writer.left -= bytes;
  if (!job.in_turn && file.at % all == 0 && writer.files.size() > 1) {
    close(writer, file);
    file.order = {};
  }
  if (job.in_turn || file.at % all == 0) writer.file = (writer.file + 1) % writer.files.size();
  if (writer.left == 0) finish(writer);
}

bool JobWorkload::next(Operation& operation) {
  while (head_ == queue_.size()) {
    queue_.clear();
    head_ = 0;
    if (ended_) return false;
    if (set_up_ < all_.size()) {
      set_up(all_[set_up_++]);
      sets_up_ = true;
      continue;
    }
    sets_up_ = false;
    // Choose the next writer of this phase in turn.
    std::size_t looked = 0;
    while (looked < all_.size() && (all_[turn_].done || all_[turn_].phase != phase_)) {
      turn_ = (turn_ + 1) % all_.size();
      ++looked;
    }
    if (looked < all_.size()) {
      step(all_[turn_]);
      turn_ = (turn_ + 1) % all_.size();
    } else if (phase_ < all_.back().phase) {
      ++phase_;
    } else {
      ended_ = true;
      queue_.emplace_back();
    }
  }
  operation = last_ = queue_[head_++];
  if (is_a_writers(last_)) written_ += operation.bytes;
  return true;
}

// Whether the operation belongs to a writer and not to the setup of the files.
bool JobWorkload::is_a_writers(const Operation& operation) const {
  using Kind = Operation::Kind;
  return !sets_up_ && (operation.kind == Kind::write_at || operation.kind == Kind::direct);
}

void JobWorkload::fail() {
  if (sets_up_ && last_.kind == Operation::Kind::write_at) {
    // Drops the remaining writes of this file.
    const auto rest = queue_.begin() + static_cast<std::ptrdiff_t>(head_);
    const auto end = std::remove_if(rest, queue_.end(), [this](const Operation& operation) {
      return operation.slot == last_.slot && operation.kind == Operation::Kind::write_at;
    });
    queue_.erase(end, queue_.end());
  }
  if (!is_a_writers(last_)) return;
  written_ -= last_.bytes;
  Writer& writer = all_[last_.writer];
  writer.left = 0;
  if (!writer.done) finish(writer);
}

namespace {

Result<bool> parse_yes(std::string_view text) {
  if (text == "yes" || text == "1") return true;
  if (text == "no" || text == "0") return false;
  return error("'{}' is neither yes nor no", text);
}

Status take_space(std::string_view value, Job& job) {
  if (value == "none" || value == "whole") {
    job.space = value == "none" ? Job::Space::none : Job::Space::extend;
    return {};
  }
  const auto bytes = parse_size(value);
  if (!bytes.ok() || *bytes == 0)
    return error("'{}': give none, whole, or how much to reserve at a time, such as 128K", value);
  job.space = Job::Space::ahead;
  job.ahead = *bytes;
  return {};
}

// Collects the settings that the words give.
struct Words {
  Wanted wanted;
  Job job;
  bool of_job = false;  // some word was for a job and not for a profile
};

struct Word {
  std::string_view key;
  bool of_job = false, of_profile = false;
  std::function<Status(const std::string& value, Words& out)> take;
};

// A word that sets a number or a size.
template <class Parse>
Word number(std::string_view key, std::uint64_t Job::*member, Parse parse) {
  return {key, true, false, [member, parse](const std::string& value, Words& out) -> Status {
            E4R_TRY(out.job.*member, parse(value));
            return {};
          }};
}

Word yes_no(std::string_view key, bool Job::*member) {
  return {key, true, false, [member](const std::string& value, Words& out) -> Status {
            E4R_TRY(out.job.*member, parse_yes(value));
            return {};
          }};
}

Word part_of_until(std::string_view key) {
  return {key, false, true, [key](const std::string& value, Words& out) -> Status {
            std::string& until = out.wanted.until;
            until += fmt::format("{}{} {}", until.empty() ? "" : ", ", key, value);
            return parse_until(until).ok() ? Status() : Status(parse_until(until).error());
          }};
}

const std::vector<Word>& words() {
  static const std::vector<Word> kWords = {
      number("files", &Job::files, parse_u64),
      number("size", &Job::size, parse_size),
      number("writers", &Job::writers, parse_u64),
      number("bs", &Job::bs, parse_size),
      {"fallocate", true, false,
       [](const std::string& value, Words& out) { return take_space(value, out.job); }},
      yes_no("direct", &Job::direct),
      yes_no("random", &Job::random),
      number("fsync", &Job::fsync, parse_u64),
      {"profile", false, true,
       [](const std::string& value, Words& out) -> Status {
         E4R_TRY([[maybe_unused]] const Profile profile, find_profile(value));
         out.wanted.profile = value;
         return {};
       }},
      part_of_until("utilisation"),
      part_of_until("turnover"),
      {"seed", true, true,
       [](const std::string& value, Words& out) -> Status {
         E4R_TRY(out.wanted.seed, parse_u64(value));
         out.job.seed = out.wanted.seed;
         return {};
       }},
      {"spread", true, true,
       [](const std::string& value, Words& out) -> Status {
         E4R_TRY(out.wanted.spread, parse_yes(value));
         return {};
       }},
  };
  return kWords;
}

std::string known_words() {
  std::string out;
  for (const Word& word : words()) out += fmt::format("{}{}", out.empty() ? "" : ", ", word.key);
  return out;
}

}  // namespace

Result<Wanted> parse_job_words(std::string_view text) {
  Words out;
  out.job.split = true;
  std::istringstream parts{std::string(text)};
  std::vector<std::string> seen;
  bool any = false;
  for (std::string part; parts >> part; any = true) {
    // The name of a profile may be given without "profile=".
    if (!any && part.find('=') == std::string::npos) part.insert(0, "profile=");
    const auto equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const auto word = std::ranges::find(words(), key, &Word::key);
    if (equals == std::string::npos || word == words().end())
      return error("'{}': choose from {}, each as NAME=VALUE", part, known_words());
    if (std::ranges::find(seen, key) != seen.end())
      return error("'{}': {} is given twice", part, key);
    seen.push_back(key);
    if (const Status taken = word->take(part.substr(equals + 1), out); !taken.ok())
      return error("{}{}", taken.error().message.starts_with(key) ? "" : key + ": ",
                   taken.error().message);
    out.of_job |= word->of_job && !word->of_profile;
    if (out.of_job && !out.wanted.profile.empty())
      return error("{}: a profile has files and sizes of its own: give one of them", key);
  }
  if (out.wanted.profile.empty() && out.job.size == 0)
    return error(
        "give the files, such as 'files=10000 size=64K writers=8', a profile, or FILE.fio");
  if (out.wanted.profile.empty() && !out.wanted.until.empty())
    return error("utilisation and turnover are for a profile: give profile=NAME, too");
  if (out.wanted.profile.empty()) out.wanted.jobs.push_back(out.job);
  return out.wanted;
}

}  // namespace e4r::age
