// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/instance.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>
#include <utility>

#include "record/freeze.h"
#include "record/kernel_files.h"
#include "record/tracefs_api.h"
#include "record/volume.h"

namespace e4r::record {
namespace {

constexpr std::string_view kPrefix = "e4replay-";
constexpr std::string_view kStats = "+mb_stats";
constexpr int kTries = 20;
constexpr std::chrono::milliseconds kBusyPause{50};

Result<std::string> instances_place() {
  E4R_CHECK(find_tracefs());
  const char* root = tracefs_tracing_dir();
  if (root == nullptr)
    return error(
        "no tracefs here: recording needs root and a kernel with tracing (CONFIG_TRACING)");
  return std::string(root) + "/instances";
}

// Locks a directory. Returns a closed descriptor if it is locked elsewhere or does not exist.
Fd lock(const std::string& directory, int how) {
  Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (fd.is_open() && ::flock(fd.get(), how) != 0)
    if (errno != EINTR) return {};
  return fd;
}

struct Known {
  InstanceName name;
  bool lives = false;  // its recorder holds its lock
};

// The instances of all recorders, including this process.
Result<std::vector<Known>> known_instances(const std::string& place) {
  char** names = tracefs_instances(nullptr);
  if (names == nullptr && (errno == EACCES || errno == EPERM))
    return error("no permission to look into tracefs: this needs root");
  std::vector<Known> out;
  for (char** name = names; name != nullptr && *name != nullptr; ++name) {
    Known one;
    if (!parse_instance_name(*name, one.name)) continue;
    one.lives = !lock(place + "/" + *name, LOCK_SH | LOCK_NB).is_open();
    out.push_back(std::move(one));
  }
  if (names != nullptr) tracefs_list_free(names);
  return out;
}

// Whether a recorder of the device has switched on the kernel's counting.
bool counts_for(const std::vector<Known>& known, const std::string& device_name, bool living_only) {
  for (const Known& one : known)
    if (one.name.device_name == device_name && one.name.counts && (one.lives || !living_only))
      return true;
  return false;
}

// Retries while busy: a recorder killed just before may not have released the instance yet.
Status destroy(tracefs_instance* instance, const std::string& name) {
  tracefs_trace_off(instance);
  int failed = EBUSY;
  for (int i = 0; i < kTries && failed == EBUSY; ++i) {
    if (i > 0) std::this_thread::sleep_for(kBusyPause);
    failed = tracefs_instance_destroy(instance) == 0 ? 0 : errno;
  }
  tracefs_instance_free(instance);
  return failed == 0 ? Status() : error("tracefs: cannot remove {}: {}", name, errno_text(failed));
}

// Thaws the device's mount if it is frozen, since its recorder no longer can.
Status thaw_device(const std::string& device_name, std::vector<std::string>& done) {
  const auto dev = device_number(device_name);
  const auto mount = dev ? find_mount(*dev) : std::nullopt;
  if (!mount) return {};
  E4R_TRY(const bool was_frozen, thaw(mount->point));
  if (was_frozen) done.push_back(fmt::format("thawed {} ({})", mount->point, device_name));
  return {};
}

Status put_back(const InstanceName& gone, const std::string& place,
                std::vector<std::string>& done) {
  E4R_TRY(const auto known, known_instances(place));
  bool recorded = false;  // by a living recorder, which may have frozen it
  for (const Known& one : known) recorded |= one.lives && one.name.device_name == gone.device_name;
  if (!recorded) E4R_CHECK(thaw_device(gone.device_name, done));
  const std::string name = to_string(gone);
  tracefs_instance* instance = tracefs_instance_create(name.c_str());
  if (instance == nullptr) return error("tracefs: {}: {}", name, errno_text(errno));
  if (gone.counts && !counts_for(known, gone.device_name, true))
    switch_stats(gone.device_name, false);
  E4R_CHECK(destroy(instance, name));
  done.push_back(fmt::format("removed what {} had left", name));
  return {};
}

}  // namespace

std::string to_string(const InstanceName& name) {
  return fmt::format("{}{}-{}{}", kPrefix, name.pid, name.device_name, name.counts ? kStats : "");
}

bool parse_instance_name(std::string_view text, InstanceName& name) {
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size());
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), name.pid);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (ec != std::errc() || name.pid <= 0 || !text.starts_with('-')) return false;
  text.remove_prefix(1);
  name.counts = text.ends_with(kStats);
  if (name.counts) text.remove_suffix(kStats.size());
  name.device_name = text;
  return !text.empty();
}

Status find_tracefs() {
  static Fd mount;  // a mount for this process alone
  if (mount.is_open() || is_mounted("tracefs")) return {};
  const Fd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context.is_open() ||
      ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return error("tracefs is not mounted, and cannot be mounted: {}: {}", errno_text(errno),
                 errno == EPERM ? "recording needs root"
                                : "mount it (mount -t tracefs nodev /sys/kernel/tracing)");
  mount = Fd(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
  if (!mount.is_open()) return error("tracefs cannot be mounted: {}", errno_text(errno));
  tracefs_set_tracing_dir(mount.path().data());
  return {};
}

Result<Instance> Instance::create(const std::string& device_name) {
  E4R_TRY(const std::string place, instances_place());
  // Recorders start and end one at a time.
  const Fd turn = lock(place, LOCK_EX);
  E4R_TRY(const auto known, known_instances(place));
  Instance out({static_cast<int>(::getpid()), device_name,
                is_stats_off(device_name) || counts_for(known, device_name, false)});
  E4R_CHECK(out.make(place));
  // The name announces the change before it is made, so it can be undone after a kill.
  if (out.name_.counts) switch_stats(device_name, true);
  return out;
}

Status Instance::make(const std::string& place) {
  const std::string name = to_string(name_);
  // Checks access first: the library leaks memory if it cannot create an instance.
  if (::access(place.c_str(), W_OK | X_OK) == 0) instance_ = tracefs_instance_create(name.c_str());
  if (instance_ == nullptr)
    return error("{}/{}: cannot be made: {}: {}", place, name, errno_text(errno),
                 errno == EROFS ? "tracefs is mounted read-only" : "recording needs root");
  lock_ = lock(place + "/" + name, LOCK_EX | LOCK_NB);
  if (!lock_.is_open()) {
    tracefs_instance_free(std::exchange(instance_, nullptr));
    return error("{}/{}: another recorder has it: record again", place, name);
  }
  return tracefs_trace_off(instance_) == 0 ? Status()
                                           : error("cannot write tracefs: {}", errno_text(errno));
}

Instance::Instance(Instance&& other) noexcept
    : name_(std::move(other.name_)),
      instance_(std::exchange(other.instance_, nullptr)),
      lock_(std::move(other.lock_)) {}

Instance::~Instance() {
  if (instance_ == nullptr) return;
  const auto place = instances_place();
  const Fd turn = place.ok() ? lock(*place, LOCK_EX) : Fd();
  lock_ = Fd();
  std::vector<Known> others;
  if (place.ok())
    if (auto known = known_instances(*place); known.ok()) others = *std::move(known);
  if (name_.counts && !counts_for(others, name_.device_name, true))
    switch_stats(name_.device_name, false);
  static_cast<void>(destroy(instance_, to_string(name_)));
}

Result<std::vector<std::string>> put_back_stale() {
  E4R_TRY(const std::string place, instances_place());
  const Fd turn = lock(place, LOCK_EX);
  E4R_TRY(const auto known, known_instances(place));
  std::vector<std::string> done;
  for (const Known& one : known)
    if (!one.lives) E4R_CHECK(put_back(one.name, place, done));
  return done;
}

}  // namespace e4r::record
