// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the input as a trace of one format, strictly and leniently. Packing and unpacking must not
// change the events.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "trace/e4t/file.h"
#include "trace/trace.h"

namespace {

using namespace e4r::trace;

// Reads the events up to the end or the first error.
std::vector<Event> read(std::string_view bytes, const ReadOptions& options) {
  std::vector<Event> out;
  const auto trace = open_trace_bytes(bytes, "input", options);
  if (!trace.ok()) return out;
  for (;;) {
    const auto batch = (*trace)->next();
    if (!batch.ok() || batch->empty()) break;
    out.insert(out.end(), batch->begin(), batch->end());
  }
  (void)notes((*trace)->summary());
  return out;
}

void check_packed(const std::vector<Event>& events) {
  std::string packed;
  e4t::Writer writer(packed);
  writer.begin();
  writer.add(events, Generation::unknown);
  writer.finish({});
  if (read(packed, {}) != events) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadOptions options;
  options.format = Format::TRACE_FORMAT;
  (void)read(bytes, options);
  options.lenient = true;
  check_packed(read(bytes, options));
  return 0;
}
