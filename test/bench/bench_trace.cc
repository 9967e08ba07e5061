// SPDX-License-Identifier: GPL-2.0-or-later
// Measures the speed of reading traces, with one thread and from memory unless the benchmark's name
// says otherwise. E4R_BENCH_TRACE names a trace in any format, which replaces the synthetic trace.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "trace/bytes.h"
#include "trace/dat/pages.h"
#include "trace/e4t/file.h"
#include "trace/packed.h"
#include "trace/tep/decoder.h"
#include "trace/text/body.h"

namespace {

using namespace e4r::trace;

[[noreturn]] void give_up(const e4r::Error& e) {
  std::fprintf(stderr, "bench_trace: %s\n", e.message.c_str());
  std::exit(1);
}

std::size_t drain(EventSource& source, std::vector<Event>* keep = nullptr) {
  std::size_t count = 0;
  for (;;) {
    const auto batch = source.next();
    if (!batch.ok()) give_up(batch.error());
    if (batch->empty()) return count;
    count += batch->size();
    benchmark::DoNotOptimize(batch->back().block);
    if (keep != nullptr) keep->insert(keep->end(), batch->begin(), batch->end());
  }
}

// Returns events of one file that is written block by block. nodelalloc captures consist almost
// only of these.
std::vector<Event> synthetic() {
  std::vector<Event> out;
  for (std::uint32_t i = 0; i < 150'000; ++i) {
    Event e;
    e.kind = EventKind::request_blocks;
    e.pid = 57;
    e.dev = make_dev(98, 0);
    e.time_ns = 910'000'000 + i / 64 * 1'000'000ULL;
    e.ino = 13 + i / 5000;
    e.flags = e4r::mb::hint_data;
    e.count = 1;
    e.logical = i % 5000;
    e.goal = 100'000 + i;
    e.left_logical = e.logical > 0 ? i % 5000 - 1 : 0;
    e.left_block = e.logical > 0 ? e.goal - 1 : 0;
    out.push_back(e);
    Event hit;
    hit.kind = EventKind::mballoc_prealloc;
    hit.pid = e.pid;
    hit.dev = e.dev;
    hit.time_ns = e.time_ns;
    hit.ino = e.ino;
    hit.orig = {static_cast<std::uint32_t>(e.goal / 32768),
                static_cast<std::int32_t>(e.goal % 32768), 1, i % 5000};
    hit.result = hit.orig;
    out.push_back(hit);
    e.kind = EventKind::allocate_blocks;
    e.block = e.goal;
    out.push_back(e);
  }
  return out;
}

// The measured trace in every format.
struct Material {
  std::vector<Event> events;
  std::string text, packed;

  Material() {
    if (const char* path = std::getenv("E4R_BENCH_TRACE")) {
      const auto trace = open_trace(path);
      if (!trace.ok()) give_up(trace.error());
      drain(**trace, &events);
    } else {
      events = synthetic();
    }
    for (const Event& e : events) print_ftrace_event(text, e, Generation::v6_1);
    e4t::Writer writer(packed);
    writer.begin();
    writer.add(events, Generation::v6_1);
    writer.finish({});
    std::printf("%zu events, %zu bytes of text, %zu packed: 1/%.1f\n", events.size(), text.size(),
                packed.size(),
                static_cast<double>(text.size()) / static_cast<double>(packed.size()));
  }
};

const Material& material() {
  static const Material m;
  return m;
}

void count(benchmark::State& state, std::size_t items, std::size_t bytes) {
  state.SetItemsProcessed(static_cast<std::int64_t>(items) * state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

void read_bytes(benchmark::State& state, const std::string& bytes) {
  for (auto _ : state) {
    const auto trace = open_trace_bytes(bytes, "bench");
    if (!trace.ok()) give_up(trace.error());
    drain(**trace);
  }
  count(state, material().events.size(), bytes.size());
}

void BM_FtraceText(benchmark::State& state) {
  read_bytes(state, material().text);
}
BENCHMARK(BM_FtraceText)->Unit(benchmark::kMillisecond);

void BM_E4t(benchmark::State& state) {
  read_bytes(state, material().packed);
}
BENCHMARK(BM_E4t)->Unit(benchmark::kMillisecond);

void BM_PackE4t(benchmark::State& state) {
  for (auto _ : state) {
    std::string out;
    e4t::Writer writer(out);
    writer.begin();
    writer.add(material().events, Generation::v6_1);
    writer.finish({});
    benchmark::DoNotOptimize(out.data());
  }
  count(state, material().events.size(), material().packed.size());
}
BENCHMARK(BM_PackE4t)->Unit(benchmark::kMillisecond);

void BM_Cursor(benchmark::State& state) {
  const auto packed = load_packed_bytes(material().packed, "bench");
  if (!packed.ok()) give_up(packed.error());
  for (auto _ : state) drain(*packed->cursor());
  count(state, packed->events(), packed->packed_bytes());
}
BENCHMARK(BM_Cursor)->Unit(benchmark::kMillisecond);

// Decodes binary records as a live recorder does. The input repeats the records of a small
// recording.
void BM_DecodeRecords(benchmark::State& state) {
  const auto source = open_bytes(TRACE_DATA "/dat-7-series.dat", {});
  if (!source.ok()) give_up(source.error());
  const std::string_view file = (*source)->whole();
  std::vector<std::string> warnings;
  const auto header = dat::read_dat_header(file, false, warnings);
  if (!header.ok()) give_up(header.error());
  auto decoder = RecordDecoder::create(header->formats, header->big_endian);
  if (!decoder.ok()) give_up(decoder.error());
  const dat::Buffer& buffer = header->buffers.front();
  dat::CpuRecords cpu(file, header->big_endian, header->page, buffer, buffer.cpus.front());
  std::vector<std::vector<std::byte>> records;
  Event event;
  for (auto r = cpu.next(); r.ok() && *r; r = cpu.next())
    if (decoder->decode({0, 1, (*r)->data}, event) == RecordDecoder::Outcome::event)
      records.emplace_back((*r)->data.begin(), (*r)->data.end());
  for (auto _ : state)
    for (const auto& record : records) {
      benchmark::DoNotOptimize(decoder->decode({0, 1, record}, event));
      benchmark::DoNotOptimize(event.block);
    }
  count(state, records.size(), 0);
}
BENCHMARK(BM_DecodeRecords);

// Reads a file into a packed trace, as a replay does at its start. A separate thread decompresses
// it.
void BM_LoadPackedFile(benchmark::State& state) {
  const char* path = std::getenv("E4R_BENCH_TRACE");
  if (path == nullptr) return state.SkipWithError("needs E4R_BENCH_TRACE");
  for (auto _ : state) {
    const auto packed = load_packed(path);
    if (!packed.ok()) give_up(packed.error());
    benchmark::DoNotOptimize(packed->events());
  }
  count(state, material().events.size(), 0);
}
BENCHMARK(BM_LoadPackedFile)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
