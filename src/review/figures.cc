// SPDX-License-Identifier: GPL-2.0-or-later
#include "review/figures.h"

#include <fmt/format.h>

#include "review/words.h"
#include "stats/mb_files.h"

namespace e4r::review {
namespace {

using report::Better;
using report::Value;

Value value_of(std::optional<std::uint64_t> count) {
  return count ? Value(*count) : Value();
}

Value percent(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? Value() : Value(percent_of(part, all));
}

// Puts the figure of both at the end.
class Adder {
 public:
  Adder(const Outcome& base, const Outcome& with, std::vector<Figure>& out)
      : base_(base), with_(with), out_(out) {}

  template <class Of>
  void operator()(std::string key, std::string label, Better better, Of of,
                  Place place = Place::lists) {
    Figure figure = {std::move(key), std::move(label), better, of(base_), of(with_), place};
    const bool none = std::holds_alternative<std::monostate>(figure.base) &&
                      std::holds_alternative<std::monostate>(figure.with);
    if (!none) out_.push_back(std::move(figure));
  }

 private:
  const Outcome& base_;
  const Outcome& with_;
  std::vector<Figure>& out_;
};

// What may end a search: the rungs, and what lies past them.
std::vector<mb::CriterionRow> ends_of_searches() {
  std::vector<mb::CriterionRow> out = mb::ladder_criteria();
  out.push_back(mb::row_of(mb::Criterion::past_last));
  return out;
}

// A rung that nobody's search ended in is not told of.
void add_searches(const Outcome& base, const Outcome& with, Adder& add) {
  for (const mb::CriterionRow& row : ends_of_searches()) {
    const auto of = static_cast<std::size_t>(row.criterion);
    if (base.hits[of].value_or(0) == 0 && with.hits[of].value_or(0) == 0) continue;
    add(fmt::format("hits/{}", row.key), fmt::format("hits {}", row.title), Better::none,
        [of](const Outcome& o) { return value_of(o.hits[of]); });
  }
  add("groups_considered", "groups considered", Better::lower,
      [](const Outcome& o) { return value_of(o.groups_considered); });
  add("extents_scanned", "extents scanned", Better::lower,
      [](const Outcome& o) { return value_of(o.extents_scanned); });
  add(std::string(kMeanTime), "ns a request, mean", Better::lower,
      [](const Outcome& o) { return value_of(o.times.mean()); });
  add("decision_ns/p50", "ns a request, median", Better::lower,
      [](const Outcome& o) { return value_of(o.times.percentile(0.5)); });
  add("decision_ns/p99", "ns a request, 99 %", Better::lower,
      [](const Outcome& o) { return value_of(o.times.percentile(0.99)); });
}

void add_guesses(const Outcome& base, const Outcome& with, Adder& add) {
  if (base.guessed_sizes + with.guessed_sizes > 0)
    add(
        std::string(kGuessedSizes), "by a guessed size", Better::none,
        [](const Outcome& o) -> Value { return o.guessed_sizes; }, Place::cases);
  if (base.guessed_writers + with.guessed_writers > 0)
    add(
        std::string(kGuessedWriters), "by guessed writers", Better::none,
        [](const Outcome& o) -> Value { return o.guessed_writers; }, Place::cases);
}

void add_files(Adder& add) {
  add("files/count", "files", Better::none,
      [](const Outcome& o) -> Value { return o.files.files; });
  add(
      "files/extents", "extents of files", Better::lower,
      [](const Outcome& o) -> Value { return o.files.extents; }, Place::document);
  add("files/avg_extents", "extents per file", Better::lower, [](const Outcome& o) -> Value {
    if (o.files.files == 0) return {};
    return o.files.extents_per_file();
  });
  add("files/single_extent_percent", "in one extent, %", Better::higher,
      [](const Outcome& o) { return percent(o.files.one_extent, o.files.files); });
  add(
      "files/e4defrag_score", "score of e4defrag", Better::lower,
      [](const Outcome& o) -> Value {
        const auto score = o.files.defrag_score();
        return score ? Value(*score) : Value();
      },
      Place::cases);
  add("layout/score_percent", "layout score, %", Better::higher,
      [](const Outcome& o) { return percent(o.layout.following, o.layout.successors); });
}

void add_free_space(std::uint64_t block_kb, Adder& add) {
  add("free_extents/count", "free extents", Better::lower,
      [](const Outcome& o) -> Value { return o.free.count; });
  add(
      "free_extents/avg_kb", "avg free extent, KB", Better::higher,
      [=](const Outcome& o) -> Value { return o.free.average() * block_kb; }, Place::document);
  add("free_extents/max_kb", "max free extent, KB", Better::higher,
      [=](const Outcome& o) -> Value { return o.free.max * block_kb; });
}

}  // namespace

Outcome outcome_of(const report::RunReport& run) {
  const auto stat = [&run](std::string_view name) { return stats::find_stat(run.mb_stats, name); };
  Outcome out;
  out.requests = run.tally.requests;
  out.failed = run.tally.failed;
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    out.hits[static_cast<std::size_t>(row.criterion)] =
        stat(stats::stat_name(row.criterion, "hits"));
  out.hits[static_cast<std::size_t>(mb::Criterion::past_last)] = run.past_last;
  out.groups_considered = stats::groups_considered(run.mb_stats);
  out.extents_scanned = stat("extents_scanned");
  out.times = run.times;
  out.files = run.files;
  out.layout = run.layout;
  out.free = run.free_extents;
  out.decisions_hash = run.decisions_hash;
  out.guessed_sizes = run.tally.guessed_sizes;
  out.guessed_writers = run.tally.guessed_writers;
  return out;
}

Outcome outcome_of(const app::AgedFigures& aged) {
  Outcome out;
  out.requests = aged.tally.requests;
  for (std::size_t i = 0; i < out.hits.size(); ++i)
    out.hits[i] = aged.counters.by_criterion[i].hits;
  out.groups_considered = aged.counters.considered();
  out.extents_scanned = aged.counters.extents_scanned;
  out.times = aged.times;
  out.files = aged.files;
  out.layout = aged.layout;
  out.free = aged.after.extents;
  out.decisions_hash = aged.tally.hash.value();
  return out;
}

std::vector<Figure> figures_of(const Outcome& base, const Outcome& with, std::uint32_t block_size) {
  std::vector<Figure> out;
  Adder add(base, with, out);
  add("requests", "requests", Better::none, [](const Outcome& o) -> Value { return o.requests; });
  add("failed", "failed, no space", Better::lower,
      [](const Outcome& o) { return value_of(o.failed); });
  add_guesses(base, with, add);
  add_searches(base, with, add);
  add_files(add);
  add_free_space(block_size / 1024, add);
  return out;
}

}  // namespace e4r::review
