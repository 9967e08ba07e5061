// SPDX-License-Identifier: GPL-2.0-or-later
#include "tune2fs-lazy/mounted.h"

#include <thread>

#include "common/command.h"
#include "common/print_line.h"
#include "common/run.h"
#include "lazyinit/in_use.h"
#include "tune2fs-lazy/session.h"
#include "util/progress.h"
#include "util/units.h"

namespace e4r::tools {

using lazyinit::InitItable;
using lazyinit::Inventory;
using lazyinit::MountedAt;
using lazyinit::Tables;
using lazyinit::Target;

namespace {

constexpr int kTries = 50;
constexpr auto kTryAgain = std::chrono::milliseconds(20);
constexpr auto kLookAgain = std::chrono::milliseconds(500);
// How long to wait for the first progress. The thread starts within 5 s, and first reads the block
// bitmaps of all groups.
constexpr std::chrono::seconds kPatience{60};

// Sleeps until `end`, or until a signal comes.
void sleep_until(std::chrono::steady_clock::time_point end) {
  const auto& stop = stop_on_signals(SecondSignal::nothing);
  while (!stop && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

}  // namespace

Result<Inventory> look_at_mounted(Target& target) {
  for (int i = 0;; ++i) {
    const auto tables = Tables::open(target, Target::Access::read);
    if (tables.ok()) return lazyinit::take_inventory((*tables)->tables());
    if (i == kTries) return tables.error();
    std::this_thread::sleep_for(kTryAgain);
  }
}

std::string Pacer::text(const Inventory& now) {
  const auto time = Clock::now();
  const std::uint64_t left = left_of(now);
  if (!begun_) {
    begun_ = true;
    first_left_ = last_left_ = left;
    start_ = changed_ = time;
  }
  if (left != last_left_) changed_ = time;
  last_left_ = left;
  std::string text =
      fmt::format("{} with {} left", groups_text(left), format_size(now.bytes_to_do));
  const std::uint64_t done = first_left_ > left ? first_left_ - left : 0;
  const double seconds = std::chrono::duration<double>(time - start_).count();
  if (seconds < 1) return text;
  text += fmt::format("; {} in {}", groups_text(done), duration_text(seconds));
  if (done == 0 || left == 0) return text;
  return text + fmt::format(
                    "; {} left at that pace",
                    duration_text(seconds / static_cast<double>(done) * static_cast<double>(left)));
}

std::chrono::duration<double> Pacer::idle() const {
  return Clock::now() - changed_;
}

Result<int> watch_mounted(const std::string& path, std::uint64_t seconds) {
  E4R_TRY(const MountedAt mounted, lazyinit::find_mount(path));
  E4R_TRY(const InitItable option, lazyinit::thread_option(mounted));
  E4R_TRY(const auto target, Target::open(path, Target::Access::read));
  print_line("{}: mounted at {} with {}", path, mounted.at, option.text());
  const auto& stop = stop_on_signals(SecondSignal::nothing);
  Pacer pacer;
  for (auto next = std::chrono::steady_clock::now();;) {
    E4R_TRY(const Inventory now, look_at_mounted(*target));
    print_line("{}", pacer.text(now));
    std::fflush(stdout);
    if (left_of(now) == 0) return kDone;
    if (option.kind == InitItable::Kind::off)
      return error("{}: is mounted with noinit_itable: the kernel's thread does nothing", path);
    next += std::chrono::seconds(seconds);
    sleep_until(next);
    if (stop) return kDone;
    E4R_TRY([[maybe_unused]] const MountedAt still, lazyinit::find_mount(path));
  }
}

namespace {

// Replaces the mount's option for the thread. put_back() restores the old one.
class OtherOption {
 public:
  [[nodiscard]] static Result<OtherOption> set(const MountedAt& mounted, const InitItable& wanted) {
    E4R_TRY(const InitItable before, lazyinit::thread_option(mounted));
    E4R_CHECK(lazyinit::set_thread_option(mounted, wanted));
    return OtherOption(mounted, before);
  }
  [[nodiscard]] Status put_back() const { return lazyinit::set_thread_option(mounted_, before_); }
  [[nodiscard]] const InitItable& before() const { return before_; }

 private:
  OtherOption(MountedAt mounted, InitItable before)
      : mounted_(std::move(mounted)), before_(before) {}
  MountedAt mounted_;
  InitItable before_;
};

// Waits until the kernel's thread is done or a signal comes. Returns the inventory at the end.
Result<Inventory> wait_for_kernel(const std::string& path, Target& target, Progress& progress) {
  const auto& stop = stop_on_signals(SecondSignal::nothing);
  Pacer pacer;
  for (;;) {
    E4R_TRY(const Inventory now, look_at_mounted(target));
    const std::string text = pacer.text(now);
    if (progress.active()) progress.show("the kernel zeroes: " + text);
    if (left_of(now) == 0 || stop) return now;
    E4R_TRY([[maybe_unused]] const MountedAt still, lazyinit::find_mount(path));
    if (pacer.idle() > kPatience && lazyinit::thread_seen() == lazyinit::ThreadSeen::does_not)
      return error("{}: the kernel's thread has ended with {} left: dmesg says why", path,
                   groups_text(left_of(now)));
    sleep_until(std::chrono::steady_clock::now() + kLookAgain);
  }
}

}  // namespace

Result<int> finish_mounted(const std::string& path, const MountedAt& mounted,
                           const MountedFinish& options) {
  if (!mounted.writable)
    return error("{}: is mounted read-only at {}: unmount it, or mount it for writing", path,
                 mounted.at);
  lazyinit::ImageLock lock;
  if (!options.dry_run) {
    E4R_TRY(lock, lazyinit::ImageLock::take(path));
  }
  E4R_TRY(const auto target, Target::open(path, Target::Access::read));
  E4R_TRY(const Inventory before, look_at_mounted(*target));
  if (left_of(before) == 0) {
    print_line("{}: every inode table is initialised already", path);
    return kDone;
  }
  const InitItable wanted{InitItable::Kind::wait, options.multiplier};
  if (options.dry_run) {
    print_line("would have remounted {} with {}, for {} with {}", mounted.at, wanted.text(),
               groups_text(left_of(before)), format_size(before.bytes_to_do));
    return kDone;
  }
  (void)stop_on_signals(SecondSignal::nothing);
  E4R_TRY(const OtherOption option, OtherOption::set(mounted, wanted));
  Progress progress(!options.no_progress);
  const auto left = wait_for_kernel(path, *target, progress);
  progress.wipe();
  const Status back = option.put_back();
  if (!left.ok()) return left.error();
  E4R_CHECK(back);
  print_line("{}: the kernel has zeroed {}; mounted with {} again", path,
             groups_text(left_of(before) - std::min(left_of(before), left_of(*left))),
             option.before().text());
  if (left_of(*left) == 0) return kDone;
  print_line("stopped: {} with {} are left", groups_text(left_of(*left)),
             format_size(left->bytes_to_do));
  return kFailed;
}

}  // namespace e4r::tools
