// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/metrics_file.h"

#include <sys/resource.h>

#include <utility>

#include "util/output.h"

namespace e4r::watch {

Result<std::unique_ptr<MetricsFile>> MetricsFile::open(const std::string& path) {
  Outputs outputs;
  E4R_CHECK(outputs.writes(path, OutputKind::file));
  std::unique_ptr<MetricsFile> out(new MetricsFile(path));
  out->thread_ = std::thread([file = out.get()] { file->run(); });
  return out;
}

MetricsFile::~MetricsFile() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void MetricsFile::write(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(text);
  }
  changed_.notify_one();
}

std::optional<std::string> MetricsFile::take_error() {
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, std::nullopt);
}

Status MetricsFile::write_now(const std::string& text) const {
  E4R_TRY(Output out, Output::create(path_, OutputKind::file));
  E4R_CHECK(out.write(text));
  return out.commit_unsynced();
}

void MetricsFile::run() {
  ::setpriority(PRIO_PROCESS, 0, 0);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return waiting_ || ends_; });
    if (!waiting_) return;
    const std::string text = *std::exchange(waiting_, std::nullopt);
    lock.unlock();
    const Status status = write_now(text);
    lock.lock();
    if (!status.ok() && !fails_) error_ = status.error().message;
    fails_ = !status.ok();
  }
}

}  // namespace e4r::watch
