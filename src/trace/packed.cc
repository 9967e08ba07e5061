// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/packed.h"

#include <algorithm>

#include "trace/e4t/file.h"

namespace e4r::trace {

struct PackedTrace::Data {
  std::string name;
  TraceSummary summary;
  std::uint32_t device = 0;
  std::string chosen;  // why the device was chosen; empty if there was only one
  std::shared_ptr<const e4t::PackedBlocks> store;
};

class Packer {
 public:
  static Result<PackedTrace> pack(Trace& trace, const ReadOptions& options, EventSink* sink) {
    auto data = std::make_shared<PackedTrace::Data>();
    data->name = trace.name();
    E4R_TRY(data->store, read_all(trace, sink));
    data->summary = trace.summary();
    E4R_TRY(DeviceChoice choice, choose_device(data->name, data->summary, options.device, sink));
    data->device = choice.dev;
    data->chosen = std::move(choice.why);
    if (!data->chosen.empty() || data->summary.reread_before > 0) E4R_CHECK(repack(*data, sink));
    return PackedTrace(std::move(data));
  }

 private:
  using Data = PackedTrace::Data;

  static Result<std::shared_ptr<const e4t::PackedBlocks>> read_all(Trace& trace, EventSink* sink) {
    const auto store = std::make_shared<e4t::PackedBlocks>();
    const bool packed = trace.keep_packed(*store);
    for (;;) {
      E4R_TRY(const auto batch, trace.next());
      if (batch.empty()) break;
      if (!packed) store->add(batch);
      if (sink != nullptr) sink->see(batch);
    }
    store->finish();
    return std::shared_ptr<const e4t::PackedBlocks>(store);
  }

  // Makes a second pass over all events: keeps the chosen device and corrects misread criteria.
  static Status repack(Data& data, EventSink* sink) {
    const auto source = e4t::PackedBlocks::read(data.store);
    const auto store = std::make_shared<e4t::PackedBlocks>();
    std::uint64_t misread = data.summary.reread_before;
    data.summary.set_delivered({});
    if (sink != nullptr) sink->restart();
    for (;;) {
      E4R_TRY(const auto batch, source->next());
      if (batch.empty()) break;
      for (Event e : batch) {
        if (misread > 0) {
          --misread;
          e.criterion = reread_criterion(e.criterion);
        }
        if (e.kind != EventKind::lost_events && e.dev != data.device) continue;
        data.summary.deliver(e);
        store->add({&e, 1});
        if (sink != nullptr) sink->see({&e, 1});
      }
    }
    store->finish();
    data.store = store;
    return {};
  }
};

std::unique_ptr<EventSource> PackedTrace::cursor() const {
  return e4t::PackedBlocks::read(data_->store);
}
const TraceSummary& PackedTrace::summary() const {
  return data_->summary;
}
std::uint32_t PackedTrace::device() const {
  return data_->device;
}
std::uint64_t PackedTrace::packed_bytes() const {
  return data_->store->bytes();
}
const std::string& PackedTrace::name() const {
  return data_->name;
}

std::vector<std::string> PackedTrace::notes() const {
  std::vector<std::string> out = trace::notes(data_->summary);
  if (!data_->chosen.empty())
    out.push_back(device_note(data_->summary, {data_->device, data_->chosen}));
  return out;
}

Result<PackedTrace> pack(Trace& trace, const ReadOptions& options, EventSink* sink) {
  return Packer::pack(trace, options, sink);
}

Result<PackedTrace> load_packed(const std::string& path, const ReadOptions& options,
                                EventSink* sink) {
  ReadOptions late = options;
  late.late_generation = true;
  E4R_TRY(const auto trace, open_trace(path, late));
  return Packer::pack(*trace, options, sink);
}

Result<PackedTrace> load_packed_bytes(std::string_view bytes, const std::string& name,
                                      const ReadOptions& options) {
  ReadOptions late = options;
  late.late_generation = true;
  E4R_TRY(const auto trace, open_trace_bytes(bytes, name, late));
  return Packer::pack(*trace, options, nullptr);
}

}  // namespace e4r::trace
