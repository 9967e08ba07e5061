// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/tracer.h"

extern "C" {  // kbuffer.h itself does not declare its functions as C
#include <kbuffer.h>
}

#include <event-parse.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "record/freeze.h"
#include "record/kernel_files.h"
#include "record/merger.h"
#include "record/probes.h"
#include "record/tracefs_api.h"
#include "record/volume.h"
#include "trace/decoder.h"
#include "trace/summary.h"
#include "trace/tep/decoder.h"

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

// Locks a directory. Returns a closed descriptor if another process has locked it or it does not
// exist.
Fd lock(const std::string& directory, int how) {
  Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (fd.is_open() && ::flock(fd.get(), how) != 0)
    if (errno != EINTR) return {};
  return fd;
}

struct Known {
  InstanceName name;
  bool lives = false;  // its recorder still holds the lock
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

// Whether a recorder of the device has made the kernel count mb_stats.
bool counts_for(const std::vector<Known>& known, const std::string& device_name, bool living_only) {
  for (const Known& one : known)
    if (one.name.device_name == device_name && one.name.counts && (one.lives || !living_only))
      return true;
  return false;
}

// Retries while busy: a recorder that has just been killed may not have released the instance yet.
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
  bool recorded = false;  // a living recorder, which may have frozen it, records the device
  for (const Known& one : known) recorded |= one.lives && one.name.device_name == gone.device_name;
  if (!recorded) E4R_CHECK(thaw_device(gone.device_name, done));
  const std::string name = to_string(gone);
  tracefs_instance* instance = tracefs_instance_create(name.c_str());
  if (instance == nullptr) return error("tracefs: {}: {}", name, errno_text(errno));
  if (gone.counts && !counts_for(known, gone.device_name, true))
    switch_stats(gone.device_name, false);
  E4R_CHECK(destroy(instance, name));
  done.push_back(fmt::format("removed what {} had left behind", name));
  return {};
}

}  // namespace

Fd take_turn() {
  const auto place = instances_place();
  return place.ok() ? lock(*place, LOCK_EX) : Fd();
}

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
  static Fd mount;  // a mount that only this process sees
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
  const Fd turn = take_turn();
  E4R_TRY(const auto known, known_instances(place));
  Instance out({static_cast<int>(::getpid()), device_name,
                is_stats_off(device_name) || counts_for(known, device_name, false)});
  E4R_CHECK(out.make(place));
  // Renames the instance before the change is made, so the change can be undone if this process is
  // killed.
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
    return error("{}/{}: is used by another recorder: record again", place, name);
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
  const Fd turn = take_turn();
  lock_ = Fd();
  std::vector<Known> others;
  if (place.ok())
    if (auto known = known_instances(*place); known.ok()) others = *std::move(known);
  if (name_.counts && !counts_for(others, name_.device_name, true))
    switch_stats(name_.device_name, false);
  static_cast<void>(destroy(instance_, to_string(name_)));
}

Result<std::vector<std::string>> clean_up_stale() {
  E4R_TRY(const std::string place, instances_place());
  const Fd turn = take_turn();
  E4R_TRY(const auto known, known_instances(place));
  std::vector<std::string> done;
  for (const Known& one : known)
    if (!one.lives) E4R_CHECK(put_back(one.name, place, done));
  Probes::remove_unused();
  return done;
}

namespace {

using trace::Event;
using trace::EventKind;

// One CPU's buffer.
struct CpuBuffer {
  struct Close {
    void operator()(tracefs_cpu* cpu) const { tracefs_cpu_close(cpu); }
  };
  struct Free {
    void operator()(kbuffer* pages) const { kbuffer_free(pages); }
  };
  int number = 0;
  std::unique_ptr<tracefs_cpu, Close> file;
  std::unique_ptr<kbuffer, Free> page;
  std::uint64_t last_ns = 0;
};

class TracefsTracer final : public Tracer {
 public:
  TracefsTracer(const TracerOptions& options, Instance instance)
      : options_(options), buffer_kb_(options.buffer_kb), instance_(std::move(instance)) {}
  ~TracefsTracer() override {
    if (tep_ != nullptr) tep_free(tep_);
  }
  TracefsTracer(const TracefsTracer&) = delete;
  TracefsTracer& operator=(const TracefsTracer&) = delete;

  Status open() {
    const Fd turn = options_.probes ? take_turn() : Fd();
    if (options_.probes) create_probes();
    E4R_CHECK(load_formats());
    E4R_CHECK(write("trace_clock", clock_name(options_.clock)));
    E4R_CHECK(resize());
    for (const trace::WantedEvent& event : trace::wanted_events(trace::Purpose::allocator))
      E4R_CHECK(enable(event.kind, event.essential));
    return open_buffers();
  }

  Status on() override {
    return tracefs_trace_on(instance_.get()) == 0 ? Status() : fail("start tracing");
  }
  Status off() override {
    return tracefs_trace_off(instance_.get()) == 0 ? Status() : fail("stop tracing");
  }

  Status read(bool all, const Sink& sink) override {
    const std::uint64_t now = read_clock(options_.clock);
    for (std::size_t i = 0; i < buffers_.size(); ++i) E4R_CHECK(drain(i));
    const std::uint64_t until = all ? UINT64_MAX : now - std::min(now, kSlackNs);
    const auto events = merger_->take_before(until);
    if (!all) passed_on_ns_ = until;
    return events.empty() ? Status() : sink(events);
  }

  [[nodiscard]] trace::Generation generation() const override { return decoder_->generation(); }
  void report(trace::TraceSummary& summary) const override {
    trace::report_bodies(decoder_->context(), summary);
  }
  [[nodiscard]] std::vector<capture::Losses> losses() const override { return losses_; }
  [[nodiscard]] std::size_t buffer_kb() const override { return buffer_kb_; }
  [[nodiscard]] const std::string& without_probes() const override { return without_probes_; }

 private:
  void create_probes() {
    auto probes = Probes::create();
    if (probes.ok())
      probes_.emplace(*std::move(probes));
    else
      without_probes_ = probes.error().message;
  }

  // Makes an Error from a libtracefs failure.
  static Error fail(std::string_view what) {
    return error("cannot {}: {}", what, errno_text(errno));
  }

  Status write(const std::string& file, const std::string& text) {
    if (tracefs_instance_file_write(instance_.get(), file.c_str(), text.c_str()) >= 0) return {};
    return error("tracefs: cannot write '{}' to {}: {}", text, file, errno_text(errno));
  }

  Status load_formats() {
    // Without probes, their system is the end of the list.
    std::array<const char*, 4> systems = {"ext4", "jbd2", probes_ ? "e4replay" : nullptr, nullptr};
    tep_ = tracefs_local_events_system(nullptr, systems.data());
    if (tep_ == nullptr)
      return error(
          "no events of ext4 in tracefs: is ext4 loaded (modprobe ext4), and does the "
          "kernel have CONFIG_EVENT_TRACING?");
    E4R_TRY(trace::RecordDecoder decoder, trace::RecordDecoder::create(*tep_));
    decoder_.emplace(std::move(decoder));
    return {};
  }

  Status resize() {
    if (tracefs_instance_set_buffer_size(instance_.get(), buffer_kb_, -1) == 0) return {};
    return error("cannot allocate {} KiB of trace buffer for each CPU: {}; give less with --buffer",
                 buffer_kb_, errno_text(errno));
  }

  Status enable(EventKind kind, bool needed) {
    const std::string name(trace::event_name(kind));
    if (!decoder_->knows(kind)) {
      if (!needed) return {};
      return error("this kernel has no event {}: it cannot be recorded for a replay", name);
    }
    const std::string directory = fmt::format("events/{}/{}/", trace::event_system(kind), name);
    E4R_CHECK(write(directory + "filter", filter_of(kind)));
    return write(directory + "enable", "1");
  }

  // A filter that passes only the device. Some events have separate major and minor numbers.
  [[nodiscard]] std::string filter_of(EventKind kind) const {
    tep_event* const event =
        tep_find_event_by_name(tep_, std::string(trace::event_system(kind)).c_str(),
                               std::string(trace::event_name(kind)).c_str());
    if (event != nullptr && tep_find_field(event, "dev_major") != nullptr)
      return fmt::format("dev_major == {} && dev_minor == {}", trace::dev_major(options_.dev),
                         trace::dev_minor(options_.dev));
    return fmt::format("dev == {}", options_.dev);
  }

  Status open_buffers() {
    // CPU numbers may have gaps.
    for (std::uint32_t number = 0, last = possible_cpus().last; number <= last; ++number) {
      CpuBuffer cpu;
      cpu.number = static_cast<int>(number);
      // O_CLOEXEC keeps a recorded command from inheriting the descriptor.
      const std::string file = fmt::format("per_cpu/cpu{}/trace_pipe_raw", number);
      const int fd = tracefs_instance_file_open(instance_.get(), file.c_str(),
                                                O_RDONLY | O_NONBLOCK | O_CLOEXEC);
      if (fd < 0) continue;  // the CPU does not exist, or was never online
      cpu.file.reset(tracefs_cpu_alloc_fd(fd, tep_get_sub_buffer_size(tep_), true));
      if (!cpu.file) return fail("open the trace buffers");
      constexpr auto kEndian =
          std::endian::native == std::endian::little ? KBUFFER_ENDIAN_LITTLE : KBUFFER_ENDIAN_BIG;
      cpu.page.reset(kbuffer_alloc(sizeof(long) == 8 ? KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4, kEndian));
      buffers_.push_back(std::move(cpu));
    }
    if (buffers_.empty()) return fail("open the trace buffers");
    bytes_.resize(static_cast<std::size_t>(tracefs_cpu_read_size(buffers_.front().file.get())));
    merger_.emplace(buffers_.size());
    return {};
  }

  // Reads everything that one CPU's buffer holds now.
  Status drain(std::size_t index) {
    CpuBuffer& cpu = buffers_[index];
    for (;;) {
      const int got = tracefs_cpu_read(cpu.file.get(), bytes_.data(), true);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno != EAGAIN) return fail("read the trace buffer");
      if (got <= 0) return {};
      if (kbuffer_load_subbuffer(cpu.page.get(), bytes_.data()) != 0)
        return error("the kernel's trace buffer of CPU {} cannot be understood", cpu.number);
      E4R_CHECK(note_losses(index));
      E4R_CHECK(decode_page(index));
    }
  }

  // The loss marker precedes the events that other CPUs recorded during the gap, as far as read()
  // has not passed them on yet.
  Status note_losses(std::size_t index) {
    CpuBuffer& cpu = buffers_[index];
    const int missed = kbuffer_missed_events(cpu.page.get());
    if (missed == 0) return {};
    Event marker;
    marker.kind = EventKind::lost_events;
    marker.cpu = static_cast<std::uint16_t>(cpu.number);
    marker.dev = options_.dev;
    marker.count = missed > 0 ? static_cast<std::uint64_t>(missed) : 0;
    unsigned long long first_ns = 0;  // time of the first event after the gap
    (void)kbuffer_read_event(cpu.page.get(), &first_ns);
    const std::uint64_t begin_ns = std::max(cpu.last_ns, passed_on_ns_);
    marker.time_ns = begin_ns != 0 ? begin_ns : first_ns;
    merger_->add(index, marker);
    add_losses(cpu);
    return grow();
  }

  // The kernel's own count is exact, even if a loss marker has no number.
  void add_losses(const CpuBuffer& cpu) {
    const std::string file = fmt::format("per_cpu/cpu{}/stats", cpu.number);
    char* text = tracefs_instance_file_read(instance_.get(), file.c_str(), nullptr);
    if (text == nullptr) return;
    const std::uint64_t lost = trace::lost_by_stats(text);
    ::free(text);
    const auto number = static_cast<std::uint32_t>(cpu.number);
    const auto known = std::find_if(losses_.begin(), losses_.end(),
                                    [&](const auto& l) { return l.cpu == number; });
    if (known == losses_.end())
      losses_.push_back({number, lost});
    else
      known->events = lost;
  }

  Status grow() {
    const std::size_t larger = std::min(buffer_kb_ * 2, options_.most_buffer_kb);
    if (larger == buffer_kb_) return {};
    const std::size_t before = std::exchange(buffer_kb_, larger);
    if (!resize().ok()) buffer_kb_ = before;
    return {};
  }

  Status decode_page(std::size_t index) {
    CpuBuffer& cpu = buffers_[index];
    unsigned long long ts = 0;
    for (void* data = kbuffer_read_event(cpu.page.get(), &ts); data != nullptr;
         data = kbuffer_next_event(cpu.page.get(), &ts)) {
      tep_record record = {};
      record.ts = ts;
      record.cpu = cpu.number;
      record.data = data;
      record.size = kbuffer_event_size(cpu.page.get());
      const auto outcome = decoder_->decode(record, event_);
      if (outcome == trace::RecordDecoder::Outcome::malformed)
        return error("the kernel's trace: {}", decoder_->problem());
      if (outcome == trace::RecordDecoder::Outcome::event) merger_->add(index, event_);
      cpu.last_ns = ts;
    }
    return {};
  }

  TracerOptions options_;
  std::size_t buffer_kb_;
  std::optional<Probes> probes_;  // can be removed only after the instance
  std::string without_probes_;
  Instance instance_;
  tep_handle* tep_ = nullptr;
  std::optional<trace::RecordDecoder> decoder_;
  std::vector<CpuBuffer> buffers_;  // must be closed before the instance is removed
  std::optional<Merger> merger_;
  std::vector<char> bytes_;  // one page
  std::vector<capture::Losses> losses_;
  std::uint64_t passed_on_ns_ = 0;  // read() has passed on all events before this time
  Event event_;
};

}  // namespace

Result<std::unique_ptr<Tracer>> Tracer::create(const TracerOptions& options, Instance instance) {
  auto out = std::make_unique<TracefsTracer>(options, std::move(instance));
  E4R_CHECK(out->open());
  return std::unique_ptr<Tracer>(std::move(out));
}

}  // namespace e4r::record
