// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/packed.h"

#include <algorithm>

namespace e4r::trace {

struct PackedTrace::Data {
  std::string name;
  TraceSummary summary;
  std::uint32_t device = 0;
  bool chosen = false;  // we took one of several devices
  std::vector<Event> events;
};

namespace {

class Cursor final : public EventSource {
 public:
  Cursor(std::shared_ptr<const void> keep, std::span<const Event> events)
      : keep_(std::move(keep)), rest_(events) {}
  Result<std::span<const Event>> next() override {
    const auto batch = rest_.first(std::min<std::size_t>(rest_.size(), 256));
    rest_ = rest_.subspan(batch.size());
    return batch;
  }

 private:
  std::shared_ptr<const void> keep_;
  std::span<const Event> rest_;
};

std::string device_list(const TraceSummary& summary) {
  std::string out;
  for (const DeviceCount& d : summary.devices) out += (out.empty() ? "" : " ") + device_name(d.dev);
  return out;
}

}  // namespace

class Packer {
 public:
  static Result<PackedTrace> pack(Trace& trace, const OpenOptions& options) {
    auto data = std::make_shared<PackedTrace::Data>();
    data->name = trace.name();
    E4R_CHECK(read_all(trace, *data));
    data->summary = trace.summary();
    E4R_CHECK(check_content(*data, options));
    choose_device(*data, options);
    return PackedTrace(std::move(data));
  }

 private:
  using Data = PackedTrace::Data;

  static Status read_all(Trace& trace, Data& data) {
    for (;;) {
      E4R_TRY(const auto batch, trace.next());
      if (batch.empty()) break;
      data.events.insert(data.events.end(), batch.begin(), batch.end());
    }
    for (std::uint64_t i = 0; i < trace.summary().reread_before; ++i)
      data.events[i].criterion = reread_criterion(data.events[i].criterion);
    return {};
  }

  static Status check_content(const Data& data, const OpenOptions& options) {
    if (data.summary.devices.empty())
      return error("{}: holds no ext4 allocation events", data.name);
    const auto has = [&](const DeviceCount& d) { return d.dev == options.device; };
    if (options.device && std::ranges::none_of(data.summary.devices, has))
      return error("{}: holds no events of device {}, only of {}", data.name,
                   device_name(*options.device), device_list(data.summary));
    return {};
  }

  static void choose_device(Data& data, const OpenOptions& options) {
    data.device = options.device ? *options.device : busiest(data.summary)->dev;
    data.chosen = !options.device && data.summary.devices.size() > 1;
    if (!data.chosen) return;
    std::erase_if(data.events, [&](const Event& e) {
      return e.kind != EventKind::lost_events && e.dev != data.device;
    });
  }
};

std::unique_ptr<EventSource> PackedTrace::cursor() const {
  return std::make_unique<Cursor>(data_, data_->events);
}
const TraceSummary& PackedTrace::summary() const {
  return data_->summary;
}
std::uint32_t PackedTrace::device() const {
  return data_->device;
}
std::uint64_t PackedTrace::packed_bytes() const {
  return data_->events.size() * sizeof(Event);
}
const std::string& PackedTrace::name() const {
  return data_->name;
}

std::vector<std::string> PackedTrace::notes() const {
  std::vector<std::string> out = trace::notes(data_->summary);
  if (data_->chosen)
    out.push_back(
        fmt::format("the trace has events of devices {}: taking {}, the busiest; choose "
                    "another with --device",
                    device_list(data_->summary), device_name(data_->device)));
  return out;
}

Result<PackedTrace> load_packed(const std::string& path, const OpenOptions& options) {
  OpenOptions late = options;
  late.late_generation = true;
  E4R_TRY(const auto trace, open_trace(path, late));
  return Packer::pack(*trace, options);
}

Result<PackedTrace> load_packed_bytes(std::string_view bytes, const std::string& name,
                                      const OpenOptions& options) {
  OpenOptions late = options;
  late.late_generation = true;
  E4R_TRY(const auto trace, open_trace_bytes(bytes, name, late));
  return Packer::pack(*trace, options);
}

}  // namespace e4r::trace
