// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/inspection.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "util/status.h"
#include "util/units.h"

namespace e4r::trace {
namespace {

// The maximum number of threads in the allocator at once. A trace with more is damaged.
constexpr std::size_t kMaxOpen = 256;

std::uint64_t key_of(const Event& e) {
  return static_cast<std::uint64_t>(e.dev) << 32 | e.pid;
}

}  // namespace

void ExactnessCheck::add(std::span<const Event> events) {
  for (const Event& e : events) add_one(e);
}

// Marks every other open request of the same device as interleaved with this thread.
void ExactnessCheck::disturb_others(std::uint64_t key) {
  for (auto& [other, request] : open_)
    if (other != key && other >> 32 == key >> 32) request.interleaved = true;
}

void ExactnessCheck::add_one(const Event& e) {
  const bool opens = e.kind == EventKind::request_blocks;
  const bool closes = e.kind == EventKind::mballoc_alloc || e.kind == EventKind::mballoc_prealloc;
  const bool answers = e.kind == EventKind::allocate_blocks;
  if (!opens && !closes && !answers) return;
  const std::uint64_t key = key_of(e);
  disturb_others(key);
  if (opens) {
    if (open_.size() >= kMaxOpen) open_.clear();
    open_[key] = {};
    return;
  }
  const auto it = open_.find(key);
  if (it == open_.end()) return;
  if (closes) it->second.closed = true;
  if (!answers) return;
  interleaved_ += it->second.interleaved;
  unclosed_ += !it->second.closed;
  open_.erase(it);
}

namespace {

// Whether the trace has only events of the extent status shrinker (docs/shrinker.md).
bool is_of_shrinker(const TraceSummary& s) {
  using enum EventKind;
  return s.count(request_blocks) == 0 &&
         s.count(es_lookup_exit) + s.count(es_shrink_scan_enter) + s.count(es_insert_extent) > 0;
}

std::vector<std::string> shrinker_obstacles(const TraceSummary& s) {
  std::vector<std::string> out = not_understood(s);
  const auto none = [&s](EventKind kind) { return s.count(kind) == 0; };
  using enum EventKind;
  if (s.lost_any()) out.emplace_back("events were lost, so the trees are wrong after that");
  if (none(es_shrink_scan_enter))
    out.emplace_back("no ext4_es_shrink_scan_enter: the shrinker was not called, or not recorded");
  if (none(es_shrink_scan_exit) && none(es_shrink))
    out.emplace_back(
        "neither ext4_es_shrink nor ext4_es_shrink_scan_exit: calls cannot be compared");
  if (none(es_lookup_enter) != none(es_lookup_exit))
    out.emplace_back(
        "one of ext4_es_lookup_extent_enter and ext4_es_lookup_extent_exit is missing, so it is "
        "not known which entries have a second chance");
  for (const EventKind kind : {es_insert_extent, es_cache_extent, es_remove_extent})
    if (none(kind))
      out.push_back(fmt::format("no {}: the trees are right only if there were no such changes",
                                event_name(kind)));
  return out;
}

// The event kinds that may be missing from the recording.
std::vector<std::string> missing_kinds(const TraceSummary& s) {
  std::vector<std::string> out;
  const auto none = [&s](EventKind kind) { return s.count(kind) == 0; };
  using enum EventKind;
  if (none(mballoc_alloc) && none(mballoc_prealloc))
    out.emplace_back(
        "neither ext4_mballoc_alloc nor ext4_mballoc_prealloc: decisions cannot be compared");
  if (none(allocate_blocks))
    out.emplace_back("no ext4_allocate_blocks: only the searches show where a file's blocks went");
  if (none(new_inode_pa) && none(new_group_pa) && !none(mballoc_prealloc))
    out.emplace_back(
        "preallocations are used, but no ext4_mb_new_inode_pa or ext4_mb_new_group_pa was "
        "recorded");
  if (none(mballoc_free) && !none(free_blocks))
    out.emplace_back(
        "blocks are freed without ext4_mballoc_free, so it is not known which clusters");
  if (none(free_blocks) && !none(mballoc_free))
    out.emplace_back(
        "blocks are freed without ext4_free_blocks, so it is not known whose they were");
  if (none(commit_flushing) || none(end_commit))
    out.emplace_back(
        "jbd2_commit_flushing or jbd2_end_commit is missing, so it is not known when freed blocks "
        "become usable");
  if (none(allocate_inode))
    out.emplace_back(
        "no ext4_allocate_inode: the answer is right only if no inode was created during the "
        "trace");
  return out;
}

}  // namespace

std::vector<std::string> ExactnessCheck::obstacles(const TraceSummary& s,
                                                   const KnownOfRecording& known) const {
  if (is_of_shrinker(s)) return shrinker_obstacles(s);
  std::vector<std::string> out = not_understood(s);
  const auto none = [&s](EventKind kind) { return s.count(kind) == 0; };
  if (s.lost_any()) out.emplace_back("events were lost, so the state is wrong after that");
  if (none(EventKind::request_blocks))
    out.emplace_back("no ext4_request_blocks: there is nothing to replay");
  if (!known.every_event) std::ranges::copy(missing_kinds(s), std::back_inserter(out));
  if (none(EventKind::buddy_bitmap_load) && !known.buddies_loaded)
    out.emplace_back(
        "no ext4_mb_buddy_bitmap_load: the answer is right only if every group was loaded before "
        "the trace began");
  if (interleaved_ > 0)
    out.push_back(fmt::format(
        "several writers: {} requests have another thread's request or answer between theirs",
        format_count(interleaved_)));
  return out;
}

std::vector<std::string> ExactnessCheck::remarks(const TraceSummary& s) const {
  std::vector<std::string> out;
  if (is_of_shrinker(s))
    out.emplace_back("a trace of the extent status shrinker: `e4replay shrinker` replays it");
  const std::uint64_t requests = s.count(EventKind::request_blocks);
  if (requests > 0 && s.requests_with_inputs < requests)
    out.push_back(
        "i_size and i_writecount are not recorded: taken from the flags and lengths of the "
        "closing events");
  if (unclosed_ > 0)
    out.push_back(fmt::format("{} requests have no closing event: refused before the search",
                              format_count(unclosed_)));
  if (s.of_ldiskfs)
    out.emplace_back(
        "the events are those of Lustre's ldiskfs: no policy stands for its allocator");
  else if (s.older_than != OlderThan::unknown)
    out.push_back(fmt::format(
        "the kernel is from {}: no policy stands for it, and legacy (Linux 6.1) is the nearest",
        kernel_of(s)));
  if (s.generation == Generation::v6_5 && s.streams_without_start == 0)
    out.push_back(
        "the kernel is 6.5 or later: linux-6.12.77 (and 6.17 on where no large file was written), "
        "linux-6.14 or linux-6.5 (the others), whichever follows more of its decisions");
  return out;
}

namespace {

// Counts of one device's events. lost_events markers count for every device.
struct Seen {
  DeliveredCounts delivered;
  ExactnessCheck check;
  void add(const Event& event) {
    delivered.deliver(event);
    check.add({&event, 1});
  }
};

class ByDevice {
 public:
  void add(const Event& event) {
    if (event.kind == EventKind::lost_events) {
      lost_.add(event);
      for (auto& [dev, seen] : devices_) seen.add(event);
      return;
    }
    if (last_ == nullptr || last_dev_ != event.dev) {
      last_ = &of(event.dev);
      last_dev_ = event.dev;
    }
    last_->add(event);
  }
  const Seen& of(std::uint32_t dev) const {
    const auto found = devices_.find(dev);
    return found == devices_.end() ? lost_ : found->second;
  }

 private:
  Seen& of(std::uint32_t dev) {
    if (const auto found = devices_.find(dev); found != devices_.end()) return found->second;
    if (devices_.size() >= kMaxDevices) return others_;
    return devices_.emplace(dev, lost_).first->second;
  }

  std::map<std::uint32_t, Seen> devices_;
  Seen lost_;    // counts of markers so far; each new device starts with them
  Seen others_;  // all devices beyond kMaxDevices
  Seen* last_ = nullptr;
  std::uint32_t last_dev_ = 0;
};

}  // namespace

Result<Inspection> inspect(Trace& trace, std::optional<std::uint32_t> device,
                           const KnownOfRecording& known) {
  ByDevice seen;
  for (;;) {
    E4R_TRY(const auto batch, trace.next());
    if (batch.empty()) break;
    for (const Event& event : batch) seen.add(event);
  }
  Inspection out;
  out.name = trace.name();
  out.summary = trace.summary();
  E4R_TRY(const DeviceChoice choice, choose_device(out.name, out.summary, device));
  out.device = choice.dev;
  const Seen& of = std::as_const(seen).of(choice.dev);
  out.summary.set_delivered(of.delivered);
  out.notes = notes(out.summary);
  if (!choice.why.empty()) out.notes.push_back(device_note(out.summary, choice));
  out.obstacles = of.check.obstacles(out.summary, known);
  out.remarks = of.check.remarks(out.summary);
  return out;
}

}  // namespace e4r::trace
