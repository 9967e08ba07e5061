// SPDX-License-Identifier: GPL-2.0-or-later
#include "review/review.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "app/ageing.h"
#include "app/setups.h"
#include "app/verification.h"
#include "guest/kernel_file.h"
#include "report/replay_report.h"
#include "util/units.h"

namespace e4r::review {
namespace {

// Returns for example "posting-256g" for "captures/posting-256g.e4c" and for
// "a.img:captures/posting-256g.trace.zst".
std::string short_name(const app::CaptureName& name) {
  static const std::set<std::filesystem::path> kEndings = {
      ".e4c", ".e4t", ".trace", ".dat", ".txt", ".zst", ".gz", ".xz", ".lz4", ".bz2"};
  auto file = std::filesystem::path(name.trace.empty() ? name.image : name.trace).filename();
  while (kEndings.contains(file.extension())) file = file.stem();
  return file;
}

std::string ageing_name(const AgeingCase& wanted) {
  return "age: " + wanted.profile.name;
}

// Whether the error ends the whole review ("stopped"). Other errors end only the case.
bool ends_all(const Error& error) {
  return error.message == "stopped";
}

// Adds a caveat to a case, without duplicates.
void note(Case& out, std::string caveat) {
  if (std::ranges::find(out.caveats, caveat) == out.caveats.end())
    out.caveats.push_back(std::move(caveat));
}

// A listener that turns warnings into caveats.
app::Listener noting(Case& out, const app::Listener& listener) {
  return {listener.progress, [&out](const std::string& warning) { note(out, warning); }};
}

// The outcomes of both sides, one per run.
struct Runs {
  std::array<std::vector<results::Outcome>, 2> of;  // base, then with
  [[nodiscard]] bool alike() const { return of[0].front().decided_as(of[1].front()); }
};

// Returns the number of runs per side. Only a kernel's code has times, and a case without
// differences shows no times.
unsigned repeats_for(const Runs& runs, const ReviewOptions& options) {
  const bool timed =
      guest::is_kernel(*options.base.policy) && guest::is_kernel(*options.with.policy);
  return timed && !runs.alike() ? std::max(options.repeats, 1U) : 1;
}

// Takes the median of the times of all runs. The differences within one side are noise. The time of
// a single request is known only to a tick of the guest's clock.
void settle_time(Figure& figure, const Runs& runs) {
  results::Value* const values[] = {&figure.base, &figure.with};
  for (std::size_t side = 0; side < runs.of.size(); ++side) {
    std::vector<double> all;
    for (const results::Outcome& one : runs.of[side])
      if (const auto time = results::number_of(figure.row->of(one))) all.push_back(*time);
    if (all.empty()) continue;
    std::ranges::sort(all);
    *values[side] = static_cast<std::uint64_t>(all[all.size() / 2]);
    if (all.front() > 0) figure.noise = std::max(figure.noise, all.back() / all.front() - 1);
  }
  const auto least = std::min(results::number_of(figure.base).value_or(0),
                              results::number_of(figure.with).value_or(0));
  if (figure.row->key != kMeanTime && least > 0)
    figure.noise = std::max(figure.noise, static_cast<double>(allocator::kGuestTick) / least);
}

// Sets how much each figure varies by chance. `orders` is the result of replay_other_orders().
void settle_luck(std::span<const results::Outcome> orders, Case& out) {
  for (Figure& figure : out.figures)
    if (!is_time(figure)) figure.noise = results::luck_of(orders, figure.row->of) / 100;
}

void compare(const Runs& runs, Case& out) {
  const results::Outcome &base = runs.of[0].front(), &with = runs.of[1].front();
  out.free_base = base.free.extents;
  out.free_with = with.free.extents;
  out.alike = runs.alike();
  out.repeats = static_cast<unsigned>(runs.of[0].size());
  for (Figure& figure : figures_of(base, with)) {
    if (is_time(figure)) settle_time(figure, runs);
    (is_time(figure) && out.alike ? out.alike_times : out.figures).push_back(figure);
  }
}

// Says why a case has no answer: each policy that failed, and how.
std::string refusal(const ReviewOptions& options, const Case& one) {
  std::string out;
  for (std::size_t side = 0; side < one.failed.size(); ++side) {
    if (one.failed[side].empty()) continue;
    const Side& of = side == 0 ? options.base : options.with;
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", of.policy->name, one.failed[side]);
  }
  return out;
}

// Runs both sides in turn, until one of them fails. `run` makes one run of a side. Returns an Error
// only if the whole review must end.
template <class Run>
Status run_in_turn(const ReviewOptions& options, Case& out, Run run) {
  Runs runs;
  for (unsigned turn = 0, turns = 1; turn < turns; ++turn) {
    for (std::size_t side = 0; side < runs.of.size(); ++side) {
      const Side& of = side == 0 ? options.base : options.with;
      Result<results::Outcome> made = run(of);
      if (!made.ok()) {
        if (ends_all(made.error())) return made.error();
        out.failed[side] = made.error().message;
        continue;
      }
      if (turn > 0 && made->decisions_hash != runs.of[side].front().decisions_hash)
        note(out,
             fmt::format(
                 "{} decides differently in a second run: its figures are those of the first run",
                 of.policy->name));
      runs.of[side].push_back(*std::move(made));
    }
    out.refused = refusal(options, out);
    if (!out.refused.empty()) return {};
    if (turn == 0) turns = repeats_for(runs, options);
  }
  compare(runs, out);
  return {};
}

Result<Case> review_capture(const app::CaptureName& name, const ReviewOptions& wanted,
                            const app::Listener& listener) {
  Case out;
  const app::Listener noted = noting(out, listener);
  E4R_TRY(const app::Inputs inputs, open_inputs(app::input_options(name, wanted.threads), noted));
  app::FollowedRecording followed(inputs, app::session_options(inputs, listener.progress));
  out.name = short_name(name);
  out.where = name.name;
  out.bytes = inputs.image.superblock().blocks_count * inputs.image.superblock().block_size();
  out.block_size = inputs.image.superblock().block_size();
  const Status follows = followed.follow(wanted.force, {}, noted);
  const report::ReplayReport& head = followed.report();
  out.kernel = report::kernel_text(head);
  out.recorded_policy = head.recorded_policy;
  if (head.recorded) {
    out.decisions = head.recorded->requests;
    out.followed = head.recorded->identical;
    out.kernels_own = head.recorded->is_kernels_own();
  }
  if (!follows.ok()) {
    if (ends_all(follows.error())) return follows.error();
    out.refused = follows.error().message;
    return out;
  }
  for (const Side* side : {&wanted.base, &wanted.with})
    app::warn_of_cold_kernel(*side->policy, inputs, noted);
  const Status ran = run_in_turn(wanted, out, [&](const Side& side) -> Result<results::Outcome> {
    listener.progress.show(fmt::format("{}: {}", out.name, side.policy->name));
    return followed.run(*side.policy, side.settings);
  });
  if (!ran.ok()) return ran.error();
  if (out.alike || !out.refused.empty()) return out;
  E4R_TRY(const auto orders, app::replay_other_orders(followed.session(), inputs,
                                                      out.recorded_policy, wanted.threads));
  settle_luck(orders, out);
  return out;
}

Result<Case> review_ageing(const AgeingCase& wanted, const ReviewOptions& options,
                           const app::Listener& listener) {
  image::OpenOptions open;
  open.name = wanted.image_name;
  E4R_TRY(const image::Image image, image::Image::open(wanted.image_path, open));
  Case out;
  out.name = ageing_name(wanted);
  out.where = wanted.image_name;
  out.aged = true;
  out.bytes = image.superblock().blocks_count * image.superblock().block_size();
  out.block_size = image.superblock().block_size();
  const app::Listener noted = noting(out, listener);
  const Status ran = run_in_turn(options, out, [&](const Side& side) -> Result<results::Outcome> {
    app::AgeingOptions ageing;
    ageing.profile = wanted.profile;
    ageing.until = wanted.until;
    ageing.seed = wanted.seed;
    ageing.policy = side.policy;
    ageing.settings = side.settings;
    E4R_TRY(const auto one,
            app::Ageing::begin(image, wanted.image_path, wanted.image_name, std::move(ageing)));
    E4R_CHECK(one->run(noted, {}));
    return one->outcome();
  });
  if (!ran.ok()) return ran.error();
  return out;
}

// Fails if the policy's file was rebuilt during the review, because it is then unknown which code
// ran.
Status check_unchanged(const Side& side) {
  if (!side.file) return {};
  E4R_TRY(const auto now, app::policy_file(*side.policy));
  if (now && now->sum == side.file->sum) return {};
  return error("{}: changed while it was reviewed: keep a copy of it and review that",
               side.file->file);
}

}  // namespace

std::vector<std::string> case_names(const ReviewOptions& options) {
  std::vector<std::string> out;
  for (const app::CaptureName& name : options.captures) out.push_back(short_name(name));
  for (const AgeingCase& wanted : options.ageing) out.push_back(ageing_name(wanted));
  return out;
}

Result<Review> review(const ReviewOptions& options, const app::Listener& listener) {
  Review out;
  out.base = options.base;
  out.with = options.with;
  for (const app::CaptureName& name : options.captures) {
    E4R_TRY(Case one, review_capture(name, options, listener));
    out.cases.push_back(std::move(one));
  }
  for (const AgeingCase& ageing : options.ageing) {
    E4R_TRY(Case one, review_ageing(ageing, options, listener));
    out.cases.push_back(std::move(one));
  }
  listener.progress.wipe();
  for (const Side* side : {&out.base, &out.with}) E4R_CHECK(check_unchanged(*side));
  conclude(out);
  return out;
}

// ---- The statements of a review that cover all cases: changes, their sizes, and the noise.

namespace {

// Returns the ratio of the larger value to the smaller.
double factor_of(double base, double with) {
  return std::max(base, with) / std::min(base, with);
}

double with_of(const Figure& figure) {
  return results::number_of(figure.with).value_or(0);
}

const Figure& figure_at(const Review& review, const CaseFigure& one) {
  return review.cases[one.of].figures[one.figure];
}

// Sorts the largest changes first. Among changes from zero, the largest new value comes first.
void sort_by_size(const Review& review, std::vector<CaseFigure>& all) {
  std::ranges::stable_sort(all, std::greater(), [&review](const CaseFigure& one) {
    const Figure& figure = figure_at(review, one);
    return std::tuple(!is_time(figure), size_of(figure),
                      std::isinf(size_of(figure)) ? with_of(figure) : 0.0);
  });
}

Summary::Way way_of(const Review& review, std::vector<CaseFigure> all) {
  if (all.empty()) return {};
  sort_by_size(review, all);
  return {all.size(), all[all.size() / 2], all.front()};
}

// Returns the relative difference from 1 that 19 of 20 of the factors do not exceed.
double width_of(std::vector<double> factors) {
  std::ranges::sort(factors);
  const auto most = static_cast<double>(factors.size() - 1);
  return factors[static_cast<std::size_t>(std::ceil(most * 0.95))] - 1;
}

void find_bands(Review& review) {
  std::map<std::string, std::vector<double>> factors;
  for (const Case& one : review.cases)
    for (const Figure& figure : one.alike_times) {
      const auto base = results::number_of(figure.base), with = results::number_of(figure.with);
      if (base && with && *base > 0 && *with > 0)
        factors[figure.row->key].push_back(factor_of(*base, *with));
    }
  review.bands.clear();
  for (const auto& [key, all] : factors) review.bands.push_back({key, all.size(), width_of(all)});
  for (Case& one : review.cases)
    for (Figure& figure : one.figures) {
      const auto band = std::ranges::find(review.bands, figure.row->key, &Band::key);
      if (band != review.bands.end()) figure.noise = std::max(figure.noise, band->width);
    }
}

void gather_caveats(Review& review) {
  review.caveats.clear();
  for (std::size_t i = 0; i < review.cases.size(); ++i)
    for (const std::string& text : review.cases[i].caveats) {
      auto known = std::ranges::find(review.caveats, text, &Caveat::text);
      if (known == review.caveats.end())
        known = review.caveats.insert(review.caveats.end(), Caveat{text, {}});
      known->of.push_back(i);
    }
}

// Keys of the rows that count decisions based on guessed values. Only cases with such requests have
// them.
constexpr std::string_view kGuessedSizes = "guessed_sizes", kGuessedWriters = "guessed_writers";

// How many of a policy's decisions depended on values that e4replay chose.
struct Guesses {
  std::uint64_t requests = 0, sizes = 0, writers = 0;
  std::vector<std::size_t> of;  // indexes of the cases
};

Guesses guesses_of(const Review& review, results::Value Figure::*side) {
  Guesses out;
  for (std::size_t i = 0; i < review.cases.size(); ++i) {
    const auto count = [&](std::string_view key) {
      const std::vector<Figure>& figures = review.cases[i].figures;
      const auto found = std::ranges::find(
          figures, key, [](const Figure& figure) -> std::string_view { return figure.row->key; });
      if (found == figures.end()) return std::uint64_t{0};
      return static_cast<std::uint64_t>(results::number_of((*found).*side).value_or(0));
    };
    const std::uint64_t sizes = count(kGuessedSizes), writers = count(kGuessedWriters);
    if (sizes + writers == 0) continue;
    out.requests += count("requests");
    out.sizes += sizes;
    out.writers += writers;
    out.of.push_back(i);
  }
  return out;
}

void tell_guesses(Review& review) {
  std::vector<Caveat> caveats;
  for (const auto& [side, value] :
       {std::pair(&review.base, &Figure::base), std::pair(&review.with, &Figure::with)}) {
    Guesses guesses = guesses_of(review, value);
    if (guesses.of.empty()) continue;
    std::string text = fmt::format(
        "{}: of {} requests, {} depended on a file size that was not recorded, and {} on whether "
        "the file was open for writing: e4replay chose values consistent with the trace. A change "
        "that depends on the exact values may decide differently with the true ones, which "
        "`e4replay record --events full` records",
        side->policy->name, format_count(guesses.requests), format_count(guesses.sizes),
        format_count(guesses.writers));
    caveats.push_back({std::move(text), std::move(guesses.of)});
  }
  if (caveats.size() == 2 && caveats[0].text == caveats[1].text) caveats.pop_back();
  std::ranges::move(caveats, std::back_inserter(review.caveats));
}

}  // namespace

std::vector<Figure> figures_of(const results::Outcome& base, const results::Outcome& with) {
  std::vector<Figure> out;
  for (const results::Row& row : results::rows(results::Reporter::review)) {
    Figure figure = {&row, row.of(base), row.of(with)};
    if (results::is_none(figure.base) && results::is_none(figure.with)) continue;
    // Leaves out, for example, the row of a rung in which no search ended.
    if (row.show == results::Show::nonzero && results::is_zero_or_none(figure.base) &&
        results::is_zero_or_none(figure.with))
      continue;
    out.push_back(figure);
  }
  return out;
}

Failures failures_of(const Review& review) {
  Failures out;
  for (std::size_t i = 0; i < review.cases.size(); ++i) {
    const auto& [base, with] = review.cases[i].failed;
    if (!with.empty()) out.with.push_back(i);
    if (!base.empty() && with.empty()) out.base_alone.push_back(i);
    out.both += !base.empty() && !with.empty() ? 1 : 0;
  }
  return out;
}

Change change_of(const Figure& figure) {
  const auto base = results::number_of(figure.base), with = results::number_of(figure.with);
  if (!base || !with) return Change::unknown;
  const double by = is_time(figure) ? factor_of(*base, *with) - 1 : size_of(figure);
  if (*base == *with || (figure.noise > 0 && by <= figure.noise)) return Change::same;
  if (figure.row->better == results::Better::none) return Change::unknown;
  return (*with < *base) == (figure.row->better == results::Better::lower) ? Change::better
                                                                           : Change::worse;
}

double size_of(const Figure& figure) {
  const auto base = results::number_of(figure.base), with = results::number_of(figure.with);
  if (!base || !with || *base == *with) return 0;
  if (*base == 0) return std::numeric_limits<double>::infinity();
  return std::abs(*with - *base) / *base;
}

bool is_time(const Figure& figure) {
  return figure.row->is_time();
}

void conclude(Review& review) {
  for (const Case& one : review.cases) {
    review.timed = review.timed || !one.alike_times.empty();
    for (const Figure& figure : one.figures) review.timed = review.timed || is_time(figure);
  }
  find_bands(review);
  gather_caveats(review);
  tell_guesses(review);
}

std::vector<CaseFigure> list_changed(const Review& review, Change change) {
  std::vector<CaseFigure> out;
  for (std::size_t of = 0; of < review.cases.size(); ++of)
    for (std::size_t i = 0; i < review.cases[of].figures.size(); ++i) {
      const Figure& figure = review.cases[of].figures[i];
      if (figure.row->place != results::Place::lists) continue;
      const double least = is_time(figure) ? kWorthTellingOfTimes : kWorthTelling;
      if (change_of(figure) == change && size_of(figure) >= least) out.push_back({of, i});
    }
  sort_by_size(review, out);
  return out;
}

std::vector<CaseFigure> list_largest(const Review& review, Change change) {
  constexpr std::size_t kMost = 5;  // per figure
  const std::vector<CaseFigure> all = list_changed(review, change);
  std::vector<CaseFigure> out;
  for (const Summary& summary : summaries_of(review, change)) {
    std::size_t count = 0;
    for (const CaseFigure& one : all)
      if (figure_at(review, one).row->key == summary.row->key && count++ < kMost)
        out.push_back(one);
  }
  return out;
}

std::vector<Summary> summaries(const Review& review) {
  std::vector<Summary> out;
  std::map<std::string, std::map<Change, std::vector<CaseFigure>>> changes;
  for (std::size_t of = 0; of < review.cases.size(); ++of)
    for (std::size_t i = 0; i < review.cases[of].figures.size(); ++i) {
      const Figure& figure = review.cases[of].figures[i];
      if (figure.row->place != results::Place::lists || figure.row->better == results::Better::none)
        continue;
      auto known = std::ranges::find(out, figure.row->key,
                                     [](const Summary& summary) { return summary.row->key; });
      if (known == out.end()) known = out.insert(out.end(), Summary{figure.row, 0, {}, {}});
      const Change change = change_of(figure);
      if (change == Change::unknown) continue;  // one of the policies lacks the figure
      ++known->cases;
      changes[figure.row->key][change].push_back({of, i});
    }
  for (Summary& summary : out) {
    summary.worse = way_of(review, std::move(changes[summary.row->key][Change::worse]));
    summary.better = way_of(review, std::move(changes[summary.row->key][Change::better]));
  }
  std::stable_partition(out.begin(), out.end(),
                        [](const Summary& summary) { return !summary.row->is_time(); });
  return out;
}

std::vector<Summary> summaries_of(const Review& review, Change change) {
  std::vector<Summary> out = summaries(review);
  const std::vector<CaseFigure> all = list_changed(review, change);
  std::erase_if(out, [&](const Summary& summary) {
    return std::ranges::none_of(all, [&](const CaseFigure& one) {
      return figure_at(review, one).row->key == summary.row->key;
    });
  });
  return out;
}

}  // namespace e4r::review
