// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "age/workload.h"
#include "util/units.h"

namespace e4r::results {
namespace {

using replay::Tally;
using stats::KnownCounters;
using Count = KnownCounters::Count;
using PerCriterion = KnownCounters::PerCriterion;
using Rows = std::vector<Row>;
using Of = const Outcome&;

Value value_of(Count count) {
  return count ? Value(*count) : Value();
}

Row common(Row row) {
  row.common = true;
  return row;
}

// Figures that a replay counts in addition to the allocator's own counters.
Row tallied(const char* label, const char* key, std::uint64_t Tally::*member,
            Show show = Show::nonzero, Better better = Better::none) {
  return {.label = label,
          .key = key,
          .of = [member](Of o) { return o.aged ? Value() : Value(o.tally.*member); },
          .better = better,
          .show = show,
          .counted = true,
          .reporters = kReplay};
}

void add_tally(Rows& out) {
  out.push_back(
      common({.label = "requests",
              .key = "requests",
              .of = [](Of o) -> Value { return o.tally.requests; },
              .counted = true,
              .reporters = std::uint8_t(kReplay | kReview | kAge | kWriters | kWatch | kMetrics),
              .names = {{Reporter::age, "age/requests"},
                        {Reporter::metrics, "requests", "Requests that were decided."}}}));
  Row allocated = common(
      tallied("blocks allocated", "allocated_blocks", &Tally::allocated_blocks, Show::always));
  allocated.unit = Unit::blocks;
  allocated.reporters = kReplay | kMetrics;
  allocated.names = {{Reporter::metrics, "allocated", "Space that requests got."}};
  out.push_back(allocated);
  Row failed =
      common(tallied("failed, no space", "failed", &Tally::failed, Show::always, Better::lower));
  failed.reporters = kReplay | kReview | kWatch | kMetrics;
  failed.names = {{Reporter::metrics, "failed_requests", "Requests that found no space."}};
  out.push_back(failed);
  out.push_back(tallied("metadata requests", "metadata_requests", &Tally::metadata));
  out.push_back(
      tallied("  for mappings of files, as recorded", "mapping_requests", &Tally::mapping));
  out.push_back(tallied("requests more than recorded", "extra_requests", &Tally::extra,
                        Show::nonzero, Better::lower));
  out.push_back(tallied("recorded requests not needed", "absorbed_requests", &Tally::absorbed));
  out.push_back(tallied("refused before allocation", "refused_requests", &Tally::refused));
  out.push_back(tallied("clusters freed", "freed_clusters", &Tally::freed_clusters));
  out.push_back(tallied("frees of clusters not in use", "bad_frees", &Tally::bad_frees));
  out.push_back({.label = "requests outside the image",
                 .key = "bad_requests",
                 .of = [](Of o) { return o.aged ? Value() : Value(o.contradictions.outside); },
                 .show = Show::nonzero,
                 .reporters = kReplay});
  const auto guessed = [&out](const char* label, const char* key, std::uint64_t Tally::*member,
                              const char* review) {
    Row& row = out.emplace_back(tallied(label, key, member));
    row.reporters = kReplay | kReview;
    row.names = {{Reporter::review, key, review}};
    row.place = Place::cases;
  };
  guessed("decided by an unrecorded file size", "guessed_sizes", &Tally::guessed_sizes,
          "by a guessed size");
  guessed("decided by unrecorded writers", "guessed_writers", &Tally::guessed_writers,
          "by guessed writers");
}

// A counter of mb_stats. `name` is the kernel's name for it.
Row counter(const char* section, const char* label, const char* name, Count KnownCounters::*member,
            Show show = Show::always, Better better = Better::none) {
  return {.section = section,
          .label = label,
          .key = fmt::format("mb_stats/{}", name),
          .of = [member](Of o) { return value_of(o.searches.*member); },
          .better = better,
          .show = show,
          .counted = true,
          .reporters = kReplay};
}

// Adds a counter that exists for each criterion. `of` returns the value for a criterion.
template <class OfCriterion>
void add_per_criterion(Rows& out, const char* section, const char* name, Better better,
                       OfCriterion of) {
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    out.push_back({.section = section,
                   .label = fmt::format("  {}", row.title),
                   .key = fmt::format("mb_stats/{}/{}", row.section, name),
                   .of = [of, criterion = row.criterion](Of o) { return of(o, criterion); },
                   .better = better,
                   .show = Show::nonzero,
                   .counted = true,
                   .criterion = row.key,
                   .reporters = kReplay});
}

template <Count PerCriterion::*Member>
Value of_criterion(Of o, mb::Criterion criterion) {
  return value_of(o.searches[criterion].*Member);
}

// A kernel counts a search that went past the last criterion among the useless loops of its first
// criterion (GroupRules::counts_past_last). These searches have a row of their own.
Value useless_loops(Of o, mb::Criterion criterion) {
  Count loops = o.searches[criterion].useless_loops;
  const mb::Criterion first = o.policy ? o.policy->ladder.front().criterion : mb::Criterion::cr0;
  if (loops && criterion == first)
    *loops -= std::min(*loops, o.searches[mb::Criterion::past_last].hits.value_or(0));
  return value_of(loops);
}

void add_hits(Rows& out) {
  constexpr const char* kSection = "searches ended by";
  const auto from = static_cast<std::ptrdiff_t>(out.size());
  add_per_criterion(out, kSection, "hits", Better::none, of_criterion<&PerCriterion::hits>);
  const mb::CriterionRow& past = mb::row_of(mb::Criterion::past_last);
  out.push_back(
      {.section = kSection,
       .label = fmt::format("  {}", past.title),
       .key = "searches_past_cr3",
       .of = [](Of o) { return of_criterion<&PerCriterion::hits>(o, mb::Criterion::past_last); },
       .show = Show::nonzero,
       .counted = true,
       .criterion = past.key});
  std::vector<mb::CriterionRow> ends = mb::ladder_criteria();
  ends.push_back(past);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    Row& row = *(out.begin() + from + static_cast<std::ptrdiff_t>(i));
    row.reporters = kReplay | kReview | kWatch | kMetrics;
    const std::string key = fmt::format("hits/{}", ends[i].key);
    row.names = {{Reporter::review, key, fmt::format("hits {}", ends[i].title)},
                 {Reporter::watch, key},
                 {Reporter::metrics, fmt::format("searches/{}", ends[i].key),
                  "Searches, by the criterion that ended them."}};
  }
}

// The cost of searches. hunt also uses the sum of both figures.
void add_steps(Rows& out) {
  constexpr const char *kGroups = "groups considered", *kExtents = "extents scanned";
  out.push_back(common({.section = kGroups,
                        .label = "  all",
                        .key = "groups_considered",
                        .of = [](Of o) { return value_of(o.searches.groups_considered()); },
                        .better = Better::lower,
                        .unit = Unit::steps,
                        .counted = true,
                        .reporters = std::uint8_t(kOutcomes & ~kMetrics),
                        .names = {{Reporter::review, "groups_considered", kGroups},
                                  {Reporter::age, "age/groups_considered"}}}));
  const std::size_t from = out.size();
  add_per_criterion(out, kGroups, "groups_considered", Better::lower,
                    of_criterion<&PerCriterion::groups_considered>);
  for (std::size_t i = from; i < out.size(); ++i) {
    out[i].reporters = kReplay | kMetrics;
    out[i].names = {{Reporter::metrics, fmt::format("groups_considered/{}", out[i].criterion),
                     "Groups that searches considered, by criterion."}};
  }
  out.push_back(counter("groups scanned", "  all", "groups_scanned", &KnownCounters::groups_scanned,
                        Show::always, Better::lower));
  out.push_back(counter("groups scanned", "  buddies generated", "buddies_generated",
                        &KnownCounters::buddies_generated, Show::nonzero, Better::lower));
  Row scanned = common(counter(kExtents, "  all", "extents_scanned",
                               &KnownCounters::extents_scanned, Show::always, Better::lower));
  scanned.unit = Unit::steps;
  scanned.reporters = kOutcomes;
  scanned.names = {{Reporter::review, "extents_scanned", kExtents},
                   {Reporter::age, "age/extents_scanned"},
                   {Reporter::watch, "extents_scanned"},
                   {Reporter::metrics, "extents_scanned", "Free extents that searches examined."}};
  out.push_back(scanned);
  add_per_criterion(out, kExtents, "extents_scanned", Better::lower,
                    of_criterion<&PerCriterion::extents_scanned>);
  out.push_back({.label = "groups considered and extents scanned",
                 .key = "steps",
                 .of = [](Of o) -> Value {
                   const Count groups = o.searches.groups_considered();
                   if (!groups || !o.searches.extents_scanned) return {};
                   return *groups + *o.searches.extents_scanned;
                 },
                 .better = Better::lower,
                 .unit = Unit::steps,
                 .reporters = kHunt});
}

// The time that a kernel's code took; models have no times.
void add_times(Rows& out) {
  using Times = allocator::DecisionTimes;
  const auto add = [&out](const std::string& label, std::string_view key, auto of,
                          const char* review = nullptr, const char* help = nullptr) {
    Row& row = out.emplace_back(Row{.section = "time of a decision, ns",
                                    .label = label,
                                    .key = fmt::format("decision_ns/{}", key),
                                    .of = [of](Of o) { return value_of(of(o.times)); },
                                    .better = Better::lower,
                                    .unit = Unit::ns,
                                    .show = Show::nonzero,
                                    .reporters = review == nullptr ? kReplay : kOutcomes});
    if (review != nullptr)
      row.names = {{Reporter::review, row.key, review}, {Reporter::metrics, row.key, help}};
  };
  add(
      "  mean", "mean", [](const Times& times) { return times.mean(); }, "ns a request, mean",
      "Mean time of a decision by a kernel's code.");
  add(
      "  median", "p50", [](const Times& times) { return times.percentile(0.5); },
      "ns a request, median", "Median time of a decision by a kernel's code.");
  add(
      "  99 % took no more", "p99", [](const Times& times) { return times.percentile(0.99); },
      "ns a request, 99 %", "Time that 99 % of the decisions by a kernel's code did not exceed.");
  add("  mean, from a preallocation", "preallocation",
      [](const Times& times) { return times.mean_of(mb::Criterion::unknown); });
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    add(fmt::format("  mean, {}", row.title), row.key,
        [of = row.criterion](const Times& times) { return times.mean_of(of); });
}

void add_outcome_of_searches(Rows& out) {
  constexpr const char *kHits = "outcome of searches", *kPrealloc = "preallocation, clusters";
  using Known = KnownCounters;
  out.push_back(counter(kHits, "  at the goal", "goal_hits", &Known::goal_hits, Show::always,
                        Better::higher));
  out.push_back(counter(kHits, "  full goal length", "len_goal_hits", &Known::len_goal_hits,
                        Show::always, Better::higher));
  out.push_back(
      counter(kHits, "  whole buddy chunk", "2^n_hits", &Known::order2_hits, Show::nonzero));
  out.push_back(counter(kHits, "  ended by mb_max_to_scan", "breaks", &Known::breaks, Show::always,
                        Better::lower));
  out.push_back(counter(kHits, "  lost to another writer", "lost", &Known::lost, Show::nonzero));
  out.push_back(counter(kPrealloc, "  preallocated", "preallocated", &Known::preallocated));
  out.push_back(counter(kPrealloc, "  discarded", "discarded", &Known::discarded, Show::always,
                        Better::lower));
}

// The discards that the device receives. Only a mount with the option discard has them.
void add_discards(Rows& out) {
  const auto add = [&out](const char* label, const char* key, Better better, auto of) {
    out.push_back({.section = "discards",
                   .label = label,
                   .key = key,
                   .of = [of](Of o) { return o.discards ? of(*o.discards) : Value(); },
                   .better = better,
                   .show = Show::nonzero,
                   .reporters = kReplay});
  };
  using Discards = const allocator::DiscardCounts&;
  add("  issued", "discards/issued", Better::lower, [](Discards d) -> Value { return d.issued; });
  add("  blocks", "discards/blocks", Better::none, [](Discards d) -> Value { return d.blocks; });
  add("  average length, blocks", "discards/avg_blocks", Better::higher, [](Discards d) -> Value {
    if (d.issued == 0) return {};
    return static_cast<double>(d.blocks) / static_cast<double>(d.issued);
  });
}

// Figures that only the JSON document of `age` has.
void add_ageing(Rows& out) {
  const auto add = [&out](const std::string& key, Unit unit, auto of) {
    out.push_back({.key = key,
                   .of = [of](Of o) { return o.aged ? Value(of(o, *o.aged)) : Value(); },
                   .unit = unit,
                   .reporters = kAge});
  };
  using Old = const Aged&;
  using Kind = age::Operation::Kind;
  for (const auto& [key, kind] :
       {std::pair("age/writes", Kind::write), std::pair("age/appends", Kind::append),
        std::pair("age/writes_at", Kind::write_at), std::pair("age/direct_writes", Kind::direct),
        std::pair("age/removals", Kind::remove), std::pair("age/syncs", Kind::sync),
        std::pair("age/fsyncs", Kind::flush), std::pair("age/holes", Kind::punch)})
    add(key, Unit::count, [kind = kind](Of, Old a) { return a.tally.count(kind); });
  add("age/fallocates", Unit::count,
      [](Of, Old a) { return a.tally.count(Kind::extend) + a.tally.count(Kind::reserve); });
  add("age/bytes_written", Unit::bytes, [](Of, Old a) { return a.bytes_written; });
  const auto bytes_of = [](Of o) { return o.geometry.blocks_count * o.geometry.block_size(); };
  add("age/turnover", Unit::count,
      [=](Of o, Old a) { return share(a.bytes_written, bytes_of(o)); });
  add("age/utilisation", Unit::count,
      [](Of o, Old) { return 1 - share(o.free.extents.blocks, o.geometry.blocks_count); });
  add("age/failed", Unit::count, [](Of, Old a) { return a.tally.failed; });
  add("age/tree_nodes", Unit::count, [](Of, Old a) { return a.tally.tree_nodes; });
  add("age/aligned_requests", Unit::count, [](Of, Old a) { return a.tally.aligned; });
  add("age/aligned_refused", Unit::count, [](Of, Old a) { return a.tally.refused; });
  add("age/refused_bytes", Unit::bytes, [](Of, Old a) { return a.tally.lost_bytes; });
  add("freed/runs", Unit::count, [](Of, Old a) { return a.tally.freed.runs; });
  add("freed/blocks", Unit::blocks, [](Of, Old a) { return a.tally.freed.blocks_in(0); });
  for (const Granule& granule : kGranules)
    add(fmt::format("freed/in_{}_percent", granule.key), Unit::percent,
        [bytes = granule.bytes](Of o, Old a) {
          const age::FreedRuns& freed = a.tally.freed;
          const auto order = static_cast<std::uint32_t>(std::bit_width(blocks_in(o, bytes))) - 1;
          return 100 * share(freed.blocks_in(order), freed.blocks_in(0));
        });
  add("ever_used/blocks", Unit::blocks, [](Of, Old a) { return a.ever_used; });
  add("ever_used/percent", Unit::percent,
      [](Of o, Old a) { return 100 * share(a.ever_used, o.geometry.blocks_count); });
  add("ever_used/pieces_64k", Unit::count, [](Of, Old a) { return a.ever_used_64k; });
  add("ever_used/pieces_64k_percent", Unit::percent, [=](Of o, Old a) {
    return 100 * share(a.ever_used_64k, (bytes_of(o) + 64 * kKiB - 1) / (64 * kKiB));
  });
}

// Figures of a period: rates per second and per request.
void add_rates(Rows& out) {
  const auto add = [&out](const char* label, const char* key, Better better, auto of) {
    out.push_back({.label = label, .key = key, .of = of, .better = better, .reporters = kWatch});
  };
  add("requests per second", "requests_per_s", Better::none, [](Of o) -> Value {
    if (o.elapsed_s <= o.ready_s) return {};
    return o.requests_per_s();
  });
  const auto by_request = [](Count count, Of o) -> Value {
    if (!count || o.tally.requests == 0) return {};
    return static_cast<double>(*count) / static_cast<double>(o.tally.requests);
  };
  add("groups considered per request", "groups_per_request", Better::lower,
      [=](Of o) { return by_request(o.searches.groups_considered(), o); });
  add("extents scanned per request", "extents_per_request", Better::lower,
      [=](Of o) { return by_request(o.searches.extents_scanned, o); });
}

// Figures that only a simulation of many writers has.
void add_writers(Rows& out) {
  const auto add = [&out](const char* key, Unit unit, auto of) {
    out.push_back({.key = key,
                   .of = [of](Of o) { return o.writers ? Value(of(*o.writers)) : Value(); },
                   .unit = unit,
                   .reporters = kWriters});
  };
  using Many = const contention::SimulationOutcome&;
  add("writers", Unit::count, [](Many m) { return std::uint64_t{m.writers}; });
  add("cpus", Unit::count, [](Many m) { return std::uint64_t{m.cpus}; });
  add("seconds", Unit::seconds, [](Many m) { return static_cast<double>(m.ns) / 1e9; });
  add("requests_per_s", Unit::count, [](Many m) { return m.requests_per_second(); });
  add("waiting_percent", Unit::percent, [](Many m) { return 100 * m.share_waited(m.all_waits()); });
  add("think_ns", Unit::ns,
      [](Many m) { return m.requests == 0 ? std::uint64_t{0} : m.think_ns / m.requests; });
  add("cpu_wait_ns", Unit::ns, [](Many m) { return m.cpu_wait_ns; });
  add("evasions", Unit::count, [](Many m) { return m.evasions; });
}

}  // namespace

std::vector<Row> table() {
  Rows out;
  add_tally(out);
  out.push_back(
      counter("", "calls of the allocator", "reqs", &KnownCounters::requests, Show::never));
  out.push_back(counter("", "served in full", "success", &KnownCounters::success, Show::nonzero));
  add_hits(out);
  add_steps(out);
  add_per_criterion(out, "rungs that found nothing in any group", "useless_loops", Better::lower,
                    useless_loops);
  add_per_criterion(out, "bad suggestions", "bad_suggestions", Better::lower,
                    of_criterion<&PerCriterion::bad_suggestions>);
  add_times(out);
  add_outcome_of_searches(out);
  add_discards(out);
  add_space(out);
  add_ageing(out);
  add_writers(out);
  add_rates(out);
  return out;
}

}  // namespace e4r::results
