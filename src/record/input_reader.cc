// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/input_reader.h"

#include <cstring>
#include <vector>

#include "record/bpf/object.h"
#include "record/bpf_program.h"

namespace e4r::record {
namespace {

class BpfReader final : public InputReader {
 public:
  Status load(const e4r_input_settings& settings) {
    E4R_TRY(object_, load_bpf(kInputsObject, kInputsObjectBytes, &settings, sizeof settings));
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object_.get()) {
      links_.emplace_back(bpf_program__attach(program));
      if (!links_.back()) return bpf_error("attach the BPF program");
    }
    E4R_TRY(buffer_, open_buffer(*object_, "inputs", &BpfReader::receive, this));
    return {};
  }

  Status read(const Sink& sink) override {
    sink_ = &sink;
    const int count = ring_buffer__consume(buffer_.get());
    sink_ = nullptr;
    return count >= 0 ? Status() : bpf_error("read the BPF program's buffer");
  }

 private:
  static int receive(void* self, void* data, std::size_t size) {
    e4r_input input;
    if (size != sizeof input) return 0;
    std::memcpy(&input, data, size);
    (*static_cast<BpfReader*>(self)->sink_)(input);
    return 0;
  }

  BpfObject object_;
  std::vector<BpfLink> links_;
  BpfBuffer buffer_;
  const Sink* sink_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<InputReader>> InputReader::create(std::uint32_t dev, TraceClock clock) {
  if (clock == TraceClock::mono_raw) return error("BPF programs cannot read the clock mono_raw");
  auto out = std::make_unique<BpfReader>();
  E4R_CHECK(out->load({dev, clock == TraceClock::boot}));
  return std::unique_ptr<InputReader>(std::move(out));
}

}  // namespace e4r::record
