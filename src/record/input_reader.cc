// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/input_reader.h"

#include <bpf/libbpf.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "record/bpf/object.h"

namespace e4r::record {
namespace {

// libbpf's first complaint. Later ones only report consequences.
std::string& complaint() {
  static std::string text;
  return text;
}

[[gnu::format(printf, 2, 0)]] int keep_complaint(libbpf_print_level level, const char* format,
                                                 va_list arguments) {
  if (level != LIBBPF_WARN || !complaint().empty()) return 0;
  char line[256];
  std::vsnprintf(line, sizeof line, format, arguments);
  complaint() = std::string(line).substr(0, std::string_view(line).find('\n'));
  return 0;
}

struct Close {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
  void operator()(ring_buffer* buffer) const { ring_buffer__free(buffer); }
};

class BpfReader final : public InputReader {
 public:
  Status load(const e4r_input_settings& settings) {
    libbpf_set_print(keep_complaint);
    complaint().clear();
    bpf_object_open_opts options = {};
    options.sz = sizeof options;
    options.object_name = "e4replay";
    object_.reset(bpf_object__open_mem(kInputsObject, kInputsObjectBytes, &options));
    if (!object_) return fail("open the BPF program");
    E4R_CHECK(set(settings));
    if (bpf_object__load(object_.get()) != 0) return fail("load the BPF program");
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object_.get()) {
      links_.emplace_back(bpf_program__attach(program));
      if (!links_.back()) return fail("attach the BPF program");
    }
    const int inputs = bpf_object__find_map_fd_by_name(object_.get(), "inputs");
    buffer_.reset(ring_buffer__new(inputs, &BpfReader::receive, this, nullptr));
    return buffer_ ? Status() : fail("read the BPF program's buffer");
  }

  Status read(const Sink& sink) override {
    sink_ = &sink;
    const int count = ring_buffer__consume(buffer_.get());
    sink_ = nullptr;
    return count >= 0 ? Status() : fail("read the BPF program's buffer");
  }

 private:
  static int receive(void* self, void* data, std::size_t size) {
    e4r_input input;
    if (size != sizeof input) return 0;
    std::memcpy(&input, data, size);
    (*static_cast<BpfReader*>(self)->sink_)(input);
    return 0;
  }

  // Makes an Error from a libbpf failure.
  static Error fail(std::string_view what) {
    const int errnum = errno;
    const std::string why = complaint().empty() ? "" : " (" + complaint() + ")";
    if (errnum == EPERM || errnum == EACCES)
      return error("cannot {}: needs root (CAP_BPF and CAP_PERFMON){}", what, why);
    return error("cannot {}: {}{}", what, errno_text(errnum), why);
  }

  // Returns the map that holds the program's variables of that section.
  [[nodiscard]] bpf_map* section(std::string_view name) const {
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object_.get()) {
      if (std::string_view(bpf_map__name(map)).ends_with(name)) return map;
    }
    return nullptr;
  }

  Status set(const e4r_input_settings& settings) {
    bpf_map* map = section(".rodata");
    if (map == nullptr || bpf_map__set_initial_value(map, &settings, sizeof settings) != 0)
      return error("the BPF program's settings are missing");
    return {};
  }

  std::unique_ptr<bpf_object, Close> object_;
  std::vector<std::unique_ptr<bpf_link, Close>> links_;
  std::unique_ptr<ring_buffer, Close> buffer_;
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
