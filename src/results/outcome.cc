// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/outcome.h"

#include "replay/engine.h"

namespace e4r::results {
namespace {

// log2 of the number of blocks in 64 KiB; 0 if a block is larger.
std::uint32_t order_of_64k(std::uint32_t block_bits) {
  return block_bits < 16 ? 16 - block_bits : 0;
}

// Converts the file's extents to the form that replays use.
std::vector<FileExtent> extents_of(const age::ExtentTree& file) {
  std::vector<FileExtent> out;
  for (const age::ExtentTree::Mapped& extent : file.mapped())
    out.push_back({static_cast<std::uint32_t>(extent.logical), extent.run.first, extent.run.count});
  return out;
}

// Returns the counters of the searches. If a kernel made the decisions, these are its own counters.
stats::KnownCounters searches_of(const replay::Engine& engine) {
  const auto own = kernels_stats(engine);
  if (!own) return stats::known_counters(engine.policy(), engine.counters());
  stats::KnownCounters out = stats::known_counters(*own);
  out[mb::Criterion::past_last].hits = engine.counters()[mb::Criterion::past_last].hits;
  return out;
}

}  // namespace

double Outcome::requests_per_s() const {
  const double took = elapsed_s - ready_s;
  return took > 0 ? static_cast<double>(tally.requests) / took : 0;
}

bool Outcome::decided_as(const Outcome& other) const {
  return tally.requests == other.tally.requests && decisions_hash == other.decisions_hash;
}

bool Outcome::agrees() const {
  const auto all = [](const std::optional<replay::Agreement>& a) { return !a || a->complete(); };
  return all(agreement) && all(free_run) && (!groups || groups->equal()) &&
         (!kernel_stats || kernel_stats->equal());
}

std::optional<std::vector<stats::MbStat>> kernels_stats(const replay::Engine& engine) {
  const allocator::KernelAccount* const account = engine.kernel_account();
  if (account == nullptr || account->mb_stats.empty()) return std::nullopt;
  auto shown = stats::parse_mb_stats(account->mb_stats);
  if (!shown.ok()) return std::nullopt;
  // Leaves out a value that is a time and not a count.
  std::erase_if(*shown, [](const stats::MbStat& stat) { return stat.name == "buddies_time_used"; });
  return *std::move(shown);
}

Outcome counts_of(const replay::Engine& engine) {
  Outcome out;
  out.policy = &engine.policy();
  out.tunables = engine.tunables();
  out.geometry = static_cast<const Geometry&>(engine.state().geometry());
  out.tally = engine.tally();
  out.searches = searches_of(engine);
  if (engine.discards() != nullptr) out.discards = engine.discards()->counts();
  out.decisions_hash = engine.hash().value();
  out.contradictions = engine.contradictions();
  if (const auto* times = engine.find<replay::CodeTimes>()) out.times = times->times();
  if (const auto* order = engine.find<replay::WriteOrder>()) out.write_order = *order;
  if (const auto* costs = engine.find<replay::CostProfile>()) out.costs = *costs;
  return out;
}

Outcome outcome_of(const replay::Engine& engine) {
  Outcome out = counts_of(engine);
  out.free = stats::settled_free(engine.state(), stats::mebibyte_bits(out.geometry.block_bits));
  out.files = stats::file_fragmentation(engine.files(), out.geometry);
  out.layout = stats::file_layout_score(engine.files());
  return out;
}

Outcome outcome_of(const replay::Run& run) {
  Outcome out = outcome_of(*run.engine);
  out.ready_s = run.ready_s;
  out.elapsed_s = run.elapsed_s;
  return out;
}

Outcome outcome_of(const age::Ager& ager, const Geometry& geometry) {
  Outcome out;
  out.geometry = geometry;
  out.tally.requests = ager.tally().requests;
  out.searches = stats::known_counters(ager.counters());
  out.times = ager.times();
  out.free = stats::settled_free(ager.state(), stats::mebibyte_bits(geometry.block_bits));
  for (const age::ExtentTree& file : ager.files()) {
    const std::vector<FileExtent> extents = extents_of(file);
    if (extents.empty()) continue;
    stats::add_file(extents, out.layout);
    out.files.add(extents, geometry);
  }
  out.decisions_hash = ager.tally().hash.value();
  Aged& aged = out.aged.emplace();
  aged.tally = ager.tally();
  aged.ever_used = ager.ever_used().blocks();
  aged.ever_used_64k = ager.ever_used().pieces(order_of_64k(geometry.block_bits));
  return out;
}

Outcome outcome_of(const state::Source& source) {
  Outcome out;
  out.geometry = static_cast<const Geometry&>(source.geometry);
  out.free = stats::source_free(source, stats::mebibyte_bits(source.geometry.block_bits));
  return out;
}

}  // namespace e4r::results
