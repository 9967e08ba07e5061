// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/busy_fs.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "trace/e4t/file.h"

namespace e4r::test {
namespace {

std::uint32_t clusters_of(const ModelShape& shape) {
  return shape.groups * shape.clusters_per_group;
}

ModelFiles some_old_files(ModelFs& fs, const ModelShape& shape, std::uint64_t seed) {
  Rng rng(seed);
  return add_old_files(fs, rng, 8, clusters_of(shape) / 40, 30);
}

WorkloadOptions many_files(const ModelShape& shape, std::uint64_t seed) {
  WorkloadOptions options;
  options.seed = seed;
  options.largest = std::max(clusters_of(shape) / 150, 20u);
  options.most_files = 40;
  return options;
}

}  // namespace

BusyFs::BusyFs(std::string_view policy, const ModelShape& shape, std::uint64_t seed)
    : fs(shape),
      old(some_old_files(fs, shape, seed)),
      rig(policy, fs),
      work(rig.allocator, fs, std::move(old), many_files(shape, seed)) {}

trace::PackedTrace packed_trace(std::span<const trace::Event> events,
                                trace::Generation generation) {
  std::string bytes;
  trace::e4t::Writer writer(bytes);
  writer.begin();
  trace::TraceSummary summary;
  for (const trace::Event& e : events) summary.add(e, nullptr);
  writer.add(events, generation);
  summary.generation = generation;
  writer.finish(summary);
  auto trace = trace::load_packed_bytes(bytes, "model");
  if (!trace.ok()) throw std::runtime_error(trace.error().message);
  return *std::move(trace);
}

}  // namespace e4r::test
