// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/inspection.h"

#include <map>

namespace e4r::trace {
namespace {

// The events seen of one device. lost_events markers count for every device.
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
  Seen lost_;    // markers so far; each new device starts with them
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
