// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <bpf/libbpf.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "util/status.h"

namespace e4r::record {

// Frees what libbpf has made.
struct CloseBpf {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
  void operator()(ring_buffer* buffer) const { ring_buffer__free(buffer); }
};
using BpfObject = std::unique_ptr<bpf_object, CloseBpf>;
using BpfLink = std::unique_ptr<bpf_link, CloseBpf>;
using BpfBuffer = std::unique_ptr<ring_buffer, CloseBpf>;

// Loads a compiled BPF program into the kernel. `settings` are the values of its constants. The
// Error contains libbpf's first complaint.
[[nodiscard]] Result<BpfObject> load_bpf(const unsigned char* object, std::size_t bytes,
                                         const void* settings, std::size_t settings_bytes);
// Makes the reader of a map of the program. `self` is passed to `receive`.
[[nodiscard]] Result<BpfBuffer> open_buffer(const bpf_object& object, const char* map,
                                            ring_buffer_sample_fn receive, void* self);
// Makes an Error from a failure of libbpf, which has set errno.
[[nodiscard]] Error bpf_error(std::string_view what);

}  // namespace e4r::record
