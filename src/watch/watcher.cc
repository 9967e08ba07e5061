// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/watcher.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <thread>
#include <utility>

#include "allocator/kernel.h"
#include "allocator/policy.h"
#include "record/kernel_files.h"
#include "record/start.h"
#include "stats/mb_files.h"
#include "trace/event.h"
#include "util/units.h"

namespace e4r::watch {
namespace {

// Limits of the backlog: from kShedBytes on, shadows are dropped; at kMostBytes, following starts
// over.
constexpr std::uint64_t kShedBytes = 64 << 20, kMostBytes = 256 << 20;
constexpr std::uint64_t kShedNs = 5'000'000'000;
constexpr std::chrono::seconds kPatience{30};  // how long a lag of kShedNs is tolerated
constexpr std::chrono::seconds kLookEvery{1}, kSecondCheck{2}, kLongestPause{60};

std::string running_release() {
  utsname system = {};
  ::uname(&system);
  return system.release;
}

// Returns the policies that model the release. The policies of long-term kernels come first.
Result<std::vector<const allocator::Policy*>> policies_of(const std::string& release) {
  std::vector<const allocator::Policy*> out;
  for (const allocator::Policy* policy : allocator::policies())
    if (allocator::stands_for(*policy, release)) out.push_back(policy);
  std::stable_partition(out.begin(), out.end(),
                        [](const allocator::Policy* p) { return p->long_term; });
  if (out.empty())
    return error(
        "no policy here decides like Linux {} (`e4replay policies`), so it cannot be followed",
        release);
  return out;
}

// Whether the tunables differ, apart from mb_stats, which changes no decision.
bool decides_otherwise(const std::string& now, const std::string& before) {
  const auto without_stats = [](const std::string& text) {
    const auto at = text.find("mb_stats:");
    return at == std::string::npos ? text : text.substr(0, at) + text.substr(text.find('\n', at));
  };
  return without_stats(now) != without_stats(before);
}

KernelGroups read_groups(const std::string& device_name) {
  KernelGroups out;
  const record::KernelFiles files = record::read_kernel_files(device_name);
  if (const auto text = files.find("mb_groups"); text != files.end())
    if (auto groups = stats::parse_mb_groups(text->second); groups.ok())
      out.groups = *std::move(groups);
  out.after_ns = Stream::now_ns();
  return out;
}

}  // namespace

Result<std::unique_ptr<Watcher>> Watcher::start(const WatchOptions& options) {
  std::unique_ptr<Watcher> out(new Watcher(options));
  E4R_CHECK(out->begin());
  return out;
}

Status Watcher::begin() {
  release_ = running_release();
  E4R_TRY(kernel_policies_, policies_of(release_));
  E4R_TRY(stream_, Stream::open(options_.stream));
  if (options_.incidents) {
    incidents_.emplace(*options_.incidents);
    if (incidents_->writes())
      E4R_CHECK(record::check_output(options_.incidents->output, stream_->volume(), notes_));
  }
  E4R_CHECK(take_start());
  return {};
}

Status Watcher::take_start() {
  E4R_TRY(std::unique_ptr<LiveStart> start, stream_->start());
  start_ = std::move(start);
  ++starts_;
  frozen_total_s_ += start_->frozen_s;
  shed_ = false;
  behind_since_.reset();
  dropped_reported_ = 0;
  judged_ns_ = 0;
  doubted_.clear();
  pause_ = std::chrono::seconds(1);
  volume_watch_.emplace(stream_->volume());
  lazy_init_.start(*start_->image, stream_->volume());
  looked_ = Steady::now();
  check_at_ = looked_ + options_.check_every;
  PursuitOptions options;
  options.kernel = kernel_policies_;
  options.shadows = options_.shadows;
  pursuit_ = std::make_unique<Pursuit>(
      StartPoint{.source = start_->source,
                 .image_path = start_->bytes.path(),
                 .tunables = start_->tunables,
                 .memory = start_->memory ? &*start_->memory : nullptr,
                 .keep = incidents_ ? std::optional(incidents_->options().keep) : std::nullopt},
      start_->groups, options);
  return {};
}

void Watcher::end_follower() {
  if (incidents_ && incidents_->is_wanted()) write_capture(kept());
  if (reading_.valid()) reading_.wait();
  reading_ = {};
  pursuit_.reset();
}

void Watcher::take_new_start(Anew reason, const std::string& why) {
  ++anew_[static_cast<std::size_t>(reason)];
  notes_.push_back(why + "; taking a new start image");
  end_follower();
  start_.reset();
  start_again();
}

// Tries to start again. If the file system cannot be frozen, tries again later.
void Watcher::start_again() {
  const Status status = take_start();
  if (status.ok()) return;
  pursuit_.reset();
  retry_at_ = Steady::now() + pause_;
  notes_.push_back(fmt::format("no start image: {}; trying again in {} s", status.error().message,
                               pause_.count()));
  pause_ = std::min(2 * pause_, kLongestPause);
}

Status Watcher::pump() {
  if (over_) return {};
  // The stream holds events back for Tracer::kSlackNs. So a remount is noticed here before the
  // stream passes on any event that follows it.
  if (mounts_.has_changed() || Steady::now() - looked_ >= kLookEvery) {
    looked_ = Steady::now();
    E4R_CHECK(look_around());
    if (over_) return {};
  }
  if (pursuit_ == nullptr) {
    if (Steady::now() >= retry_at_) start_again();
  } else {
    E4R_CHECK(stream_->pump(pursuit_->backlog()));
    keep_up();
  }
  if (pursuit_ != nullptr && !over_) check_groups();
  if (incidents_) look_for_incidents();
  return {};
}

// Checks that the follower is still running and that the backlog stays small.
void Watcher::keep_up() {
  if (pursuit_->has_ended())
    return take_new_start(pursuit_->events_were_lost() ? Anew::events_lost : Anew::failed,
                          "lost track of the kernel: " + pursuit_->why());
  const Backlog::State state = pursuit_->backlog().state();
  if (state.bytes >= kMostBytes)
    return take_new_start(Anew::backlog_full,
                          fmt::format("lost track of the kernel: {} of events were waiting",
                                      format_size(state.bytes)));
  if (lag_ns() <= kShedNs)
    behind_since_.reset();
  else if (!behind_since_)
    behind_since_ = Steady::now();
  const bool behind = (!state.keeps && state.bytes >= kShedBytes) ||
                      (behind_since_ && Steady::now() - *behind_since_ >= kPatience);
  if (shed_ || options_.shadows.empty() || !behind) return;
  shed_ = true;
  if (const auto follower = pursuit_->follower())
    follower->shed("dropped, because the figures fell behind the kernel");
}

// How far the figures are behind the events; 0 if there are no figures yet.
std::uint64_t Watcher::lag_ns() const {
  const auto follower = this->follower();
  if (follower == nullptr) return 0;
  const std::uint64_t until = pursuit_->backlog().state().until_ns;
  return until - std::min(until, follower->followed_ns());
}

Status Watcher::look_around() {
  if (!record::find_mount(stream_->volume().dev)) {
    over_ = true;
    notes_.push_back(fmt::format("{} was unmounted", stream_->volume().mount->point));
    return {};
  }
  if (pursuit_ == nullptr) return {};
  lazy_init_.look();
  const std::vector<std::string> changes = volume_watch_->look();
  if (!changes.empty()) {
    take_new_start(Anew::changed, fmt::format("{}: {}", options_.stream.target, changes.front()));
  } else if (decides_otherwise(record::noted_tunables(stream_->volume()), start_->noted_tunables)) {
    take_new_start(Anew::changed, "tunables changed");
  }
  return {};
}

void Watcher::check_groups() {
  if (const auto follower = pursuit_->follower()) {
    if (const auto picture = follower->picture();
        picture && picture->check && picture->check->time_ns > judged_ns_) {
      judged_ns_ = picture->check->time_ns;
      judge(*picture->check);
      return;
    }
    if (reading_.valid() &&
        reading_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      follower->end_check(reading_.get());
      return;
    }
  }
  if (options_.check_every.count() > 0 && Steady::now() >= check_at_) begin_check();
}

void Watcher::begin_check() {
  check_at_ = Steady::now() + options_.check_every;
  const auto follower = pursuit_->follower();
  // It does not matter how far the follower is behind: it makes the comparison when it reaches the
  // time of the reading.
  if (follower == nullptr || reading_.valid()) return;
  follower->begin_check(Stream::now_ns());
  reading_ = std::async(std::launch::async, read_groups, stream_->volume().device_name);
}

// A group counts as different only if it differs twice in a row.
void Watcher::judge(const GroupsCheck& check) {
  std::vector<std::uint32_t> twice;
  std::ranges::set_intersection(check.differing, doubted_, std::back_inserter(twice));
  doubted_ = check.differing;
  if (!twice.empty())
    return take_new_start(Anew::groups_differ,
                          fmt::format("{} of {} groups differ from the kernel's: {}",
                                      format_count(check.differing.size()),
                                      format_count(check.compared), check.first));
  if (!doubted_.empty()) check_at_ = std::min(check_at_, Steady::now() + kSecondCheck);
}

void Watcher::want_capture(const std::string& reason) {
  if (incidents_)
    incidents_->ask(reason, false, Steady::now(), notes_);
  else
    notes_.push_back(reason + ": give --keep and -o to get captures");
}

void Watcher::look_for_incidents() {
  constexpr std::chrono::seconds kEvery{1};
  incidents_->collect(false, notes_);
  const auto now = Steady::now();
  const auto follower = this->follower();
  if (follower != nullptr && now >= figures_at_) {
    figures_at_ = now + kEvery;
    if (const auto picture = follower->picture()) incidents_->look(*picture, now, notes_);
    follower->ask();
  }
  // The follower may not have reached its first checkpoint yet.
  if (!incidents_->is_due(now)) return;
  if (auto kept = this->kept()) write_capture(std::move(kept));
}

std::shared_ptr<Follower> Watcher::follower() const {
  return pursuit_ == nullptr ? nullptr : pursuit_->follower();
}

std::optional<FlightRecorder::Kept> Watcher::kept() const {
  const auto follower = this->follower();
  if (follower == nullptr || follower->flight() == nullptr) return std::nullopt;
  return follower->flight()->kept();
}

void Watcher::write_capture(std::optional<FlightRecorder::Kept> kept) {
  incidents_->collect(true, notes_);
  incidents_->write(std::move(kept), stream_->notes_for(start_.get(), options_.program), start_,
                    notes_);
}

Report Watcher::report() {
  constexpr std::chrono::milliseconds kMost{200}, kStep{2};
  const auto follower = this->follower();
  if (follower == nullptr) return describe();
  const auto before = follower->picture();
  follower->ask();
  const auto until = Steady::now() + kMost;
  while (follower->picture() == before && Steady::now() < until && !pursuit_->has_ended())
    std::this_thread::sleep_for(kStep);
  return describe();
}

Report Watcher::describe() {
  Report out;
  const record::Volume& volume = stream_->volume();
  out.time = format_utc(std::time(nullptr));
  out.device = fmt::format("{}:{}", trace::dev_major(volume.dev), trace::dev_minor(volume.dev));
  out.dev = volume.dev;
  out.device_name = volume.device_name;
  if (volume.mount) out.mount_point = volume.mount->point;
  out.kernel = release_;
  out.follows = pursuit_ != nullptr;
  out.is_over = over_;
  out.starts = starts_;
  out.lost = stream_->lost();
  out.frozen_total_s = frozen_total_s_;
  out.anew = anew_;
  if (start_) out.frozen_s = start_->frozen_s;
  if (pursuit_ != nullptr) {
    const Backlog::State state = pursuit_->backlog().state();
    out.attempts = pursuit_->attempts();
    out.events = state.added;
    out.backlog_bytes = state.bytes;
    out.behind_s = static_cast<double>(lag_ns()) / 1e9;
    if (const auto follower = pursuit_->follower()) out.picture = follower->picture();
  }
  if (incidents_) {
    Report::Keeps keeps;
    keeps.files = incidents_->files();
    keeps.last_file = incidents_->last_file();
    const auto follower = this->follower();
    if (follower != nullptr && follower->flight() != nullptr)
      keeps.held = follower->flight()->held();
    out.keeps = std::move(keeps);
  }
  if (out.picture)
    for (; dropped_reported_ < out.picture->dropped.size(); ++dropped_reported_, ++shadows_dropped_)
      notes_.push_back(out.picture->dropped[dropped_reported_]);
  out.shadows_dropped = shadows_dropped_;
  out.lazy_init = lazy_init_.progress();
  out.notes = std::exchange(notes_, {});
  return out;
}

Report Watcher::finish() {
  if (pursuit_ != nullptr) {
    if (stream_->pump(pursuit_->backlog(), true).ok()) {
      pursuit_->backlog().end();
      pursuit_->finish();
    }
  }
  if (incidents_) {
    if (incidents_->is_wanted()) write_capture(kept());
    incidents_->collect(true, notes_);
  }
  Report out = describe();
  end_follower();
  return out;
}

}  // namespace e4r::watch
