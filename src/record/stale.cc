// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/stale.h"

#include <signal.h>
#include "record/tracefs_api.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>

#include "record/kernel_files.h"

namespace e4r::record {
namespace {

constexpr std::string_view kPrefix = "e4replay-";
constexpr std::string_view kStats = "+mb_stats";
constexpr int kTries = 20;
constexpr std::chrono::milliseconds kPause{50};

bool is_running(int pid) {
  return ::kill(pid, 0) == 0 || errno == EPERM;
}

Status remove(const std::string& name, const InstanceName& what) {
  tracefs_instance* instance = tracefs_instance_create(name.c_str());
  if (instance == nullptr) return error("tracefs: {}: {}", name, errno_text(errno));
  tracefs_trace_off(instance);
  bool gone = false;
  int failed = 0;
  // A recorder that was killed a moment ago may still have to let go of it.
  for (int i = 0; i < kTries && !gone; ++i) {
    if (i > 0) std::this_thread::sleep_for(kPause);
    gone = tracefs_instance_destroy(instance) == 0;
    failed = errno;
  }
  tracefs_instance_free(instance);
  if (!gone) return error("tracefs: cannot remove {}: {}", name, errno_text(failed));
  if (what.stats_switched) switch_stats_off(what.device_name);
  return {};
}

}  // namespace

std::string to_string(const InstanceName& name) {
  return fmt::format("{}{}-{}{}", kPrefix, name.pid, name.device_name,
                     name.stats_switched ? kStats : "");
}

bool parse_instance_name(std::string_view text, InstanceName& name) {
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size());
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), name.pid);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (ec != std::errc() || name.pid <= 0 || !text.starts_with('-')) return false;
  text.remove_prefix(1);
  name.stats_switched = text.ends_with(kStats);
  if (name.stats_switched) text.remove_suffix(kStats.size());
  name.device_name = text;
  return !text.empty();
}

Result<std::vector<std::string>> remove_stale_instances() {
  std::vector<std::string> out;
  if (tracefs_tracing_dir() == nullptr)
    return error("no tracefs here, or no permission to use it: this needs root");
  char** names = tracefs_instances(nullptr);
  if (names == nullptr && (errno == EACCES || errno == EPERM))
    return error("no permission to look into tracefs: this needs root");
  if (names == nullptr) return out;
  Status status;
  for (char** name = names; *name != nullptr && status.ok(); ++name) {
    InstanceName what;
    if (!parse_instance_name(*name, what) || is_running(what.pid)) continue;
    status = remove(*name, what);
    if (status.ok()) out.emplace_back(*name);
  }
  tracefs_list_free(names);
  if (!status.ok()) return std::move(status).error();
  return out;
}

}  // namespace e4r::record
