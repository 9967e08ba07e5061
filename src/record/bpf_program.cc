// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/bpf_program.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string>

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

// Returns the map that holds the program's variables of that section.
bpf_map* section(const bpf_object& object, std::string_view name) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, &object) {
    if (std::string_view(bpf_map__name(map)).ends_with(name)) return map;
  }
  return nullptr;
}

}  // namespace

Error bpf_error(std::string_view what) {
  const int errnum = errno;
  const std::string why = complaint().empty() ? "" : " (" + complaint() + ")";
  if (errnum == EPERM || errnum == EACCES)
    return error("cannot {}: needs root (CAP_BPF and CAP_PERFMON){}", what, why);
  return error("cannot {}: {}{}", what, errno_text(errnum), why);
}

Result<BpfObject> load_bpf(const unsigned char* object, std::size_t bytes, const void* settings,
                           std::size_t settings_bytes) {
  libbpf_set_print(keep_complaint);
  complaint().clear();
  bpf_object_open_opts options = {};
  options.sz = sizeof options;
  options.object_name = "e4replay";
  BpfObject out(bpf_object__open_mem(object, bytes, &options));
  if (!out) return bpf_error("open the BPF program");
  bpf_map* map = section(*out, ".rodata");
  if (map == nullptr || bpf_map__set_initial_value(map, settings, settings_bytes) != 0)
    return error("the BPF program's settings are missing");
  if (bpf_object__load(out.get()) != 0) return bpf_error("load the BPF program");
  return out;
}

Result<BpfBuffer> open_buffer(const bpf_object& object, const char* map,
                              ring_buffer_sample_fn receive, void* self) {
  BpfBuffer out(
      ring_buffer__new(bpf_object__find_map_fd_by_name(&object, map), receive, self, nullptr));
  if (!out) return bpf_error("read the BPF program's buffer");
  return out;
}

}  // namespace e4r::record
