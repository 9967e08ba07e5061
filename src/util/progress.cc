// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/progress.h"

#include <unistd.h>

#include <cstdio>

#include "util/text.h"
#include "util/units.h"

namespace e4r {
namespace {

constexpr auto kEvery = std::chrono::milliseconds(100);
constexpr const char* kWipe = "\r\033[K";

}  // namespace

Progress::Progress(bool enabled)
    : terminal_(enabled && isatty(STDERR_FILENO) != 0), active_(terminal_) {}

Progress::Progress(Callback callback)
    : callback_(std::move(callback)), terminal_(false), active_(callback_ != nullptr) {}

Progress::~Progress() {
  wipe();
}

void Progress::wipe() {
  const std::lock_guard lock(mutex_);
  if (shown_) std::fputs(kWipe, stderr);
  shown_ = false;
}

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && now - last_ < kEvery) return;
  last_ = now;
  shown_ = true;
  std::fprintf(stderr, "%s%s", kWipe, escape(text).c_str());
  std::fflush(stderr);
}

bool Progress::count(std::string_view what, std::uint64_t done, std::uint64_t total) {
  if (callback_) return callback_(what, done, total);
  show(fmt::format("{}: {} of {} events", what, format_count(done), format_count(total)));
  return true;
}

}  // namespace e4r
