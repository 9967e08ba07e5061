// SPDX-License-Identifier: GPL-2.0-or-later
#include "review/review.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "app/ageing.h"
#include "app/followed.h"
#include "app/setups.h"
#include "report/replay_report.h"
#include "review/figures.h"

namespace e4r::review {
namespace {

// "posting-256g" of "captures/posting-256g.e4c" and of "a.img:captures/posting-256g.trace.zst".
std::string short_name(const app::CaptureName& name) {
  static const std::set<std::filesystem::path> kEndings = {
      ".e4c", ".e4t", ".trace", ".dat", ".txt", ".zst", ".gz", ".xz", ".lz4", ".bz2"};
  auto file = std::filesystem::path(name.trace.empty() ? name.image : name.trace).filename();
  while (kEndings.contains(file.extension())) file = file.stem();
  return file;
}

void compare(const Outcome& base, const Outcome& with, Case& out) {
  out.figures = figures_of(base, with, out.block_size);
  out.free_base = base.free;
  out.free_with = with.free;
  out.alike = base.requests == with.requests && base.decisions_hash == with.decisions_hash;
}

// The error of a run that ends this case alone; "stopped" ends all.
bool ends_all(const Error& error) {
  return error.message == "stopped";
}

Result<Case> review_capture(const app::CaptureName& name, const Options& wanted,
                            const app::Listener& listener) {
  const app::InputOptions options = app::input_options(name, wanted.threads);
  E4R_TRY(const app::Inputs inputs, open_inputs(options, listener));
  app::Followed followed(options, inputs, app::session_options(options, inputs, listener.progress));
  Case out;
  out.name = short_name(name);
  out.where = name.name;
  out.bytes = inputs.image.superblock().blocks_count * inputs.image.superblock().block_size();
  out.block_size = inputs.image.superblock().block_size();
  const allocator::Policy* const policies[] = {wanted.base.policy, wanted.with.policy};
  const Status follows = followed.follow(wanted.force, policies, listener);
  const report::ReplayReport& head = followed.report();
  out.kernel = report::kernel_text(head);
  out.recorded_policy = head.recorded_policy;
  if (head.recorded) {
    out.decisions = head.recorded->requests;
    out.followed = head.recorded->identical;
  }
  if (!follows.ok()) {
    if (ends_all(follows.error())) return follows.error();
    out.refused = follows.error().message;
    return out;
  }
  std::vector<Outcome> outcomes;
  for (const Side* side : {&wanted.base, &wanted.with}) {
    listener.progress.show(fmt::format("{}: {}", out.name, side->policy->name));
    auto run = followed.run(*side->policy, side->settings);
    if (!run.ok()) {
      if (ends_all(run.error())) return run.error();
      out.refused = fmt::format("{}: {}", side->policy->name, run.error().message);
      return out;
    }
    outcomes.push_back(outcome_of(*run));
  }
  compare(outcomes[0], outcomes[1], out);
  return out;
}

Result<Case> review_ageing(const AgeingCase& wanted, const Options& options,
                           const app::Listener& listener) {
  image::OpenOptions open;
  open.name = wanted.image_name;
  E4R_TRY(const image::Image image, image::Image::open(wanted.image_path, open));
  Case out;
  out.name = "age: " + wanted.profile.name;
  out.where = wanted.image_name;
  out.aged = true;
  out.bytes = image.superblock().blocks_count * image.superblock().block_size();
  out.block_size = image.superblock().block_size();
  std::vector<Outcome> outcomes;
  for (const Side* side : {&options.base, &options.with}) {
    app::AgeingOptions ageing;
    ageing.profile = wanted.profile;
    ageing.until = wanted.until;
    ageing.seed = wanted.seed;
    ageing.policy = side->policy;
    ageing.settings = side->settings;
    E4R_TRY(const auto one,
            app::Ageing::begin(image, wanted.image_path, wanted.image_name, std::move(ageing)));
    const Status ran = one->run(listener, {});
    if (!ran.ok()) {
      out.refused = fmt::format("{}: {}", side->policy->name, ran.error().message);
      return out;
    }
    outcomes.push_back(outcome_of(one->figures()));
  }
  compare(outcomes[0], outcomes[1], out);
  return out;
}

}  // namespace

Change change_of(const Figure& figure) {
  const auto base = report::number_of(figure.base), with = report::number_of(figure.with);
  if (!base || !with) return Change::unknown;
  if (*base == *with) return Change::same;
  if (figure.better == report::Better::none) return Change::unknown;
  return (*with < *base) == (figure.better == report::Better::lower) ? Change::better
                                                                     : Change::worse;
}

double size_of(const Figure& figure) {
  const auto base = report::number_of(figure.base), with = report::number_of(figure.with);
  if (!base || !with || *base == *with) return 0;
  if (*base == 0) return std::numeric_limits<double>::infinity();
  return std::abs(*with - *base) / *base;
}

bool is_time(const Figure& figure) {
  return figure.key.starts_with("decision_ns/");
}

std::vector<Told> told(const Review& review, Change change) {
  std::vector<Told> out;
  for (std::size_t of = 0; of < review.cases.size(); ++of)
    for (std::size_t i = 0; i < review.cases[of].figures.size(); ++i) {
      const Figure& figure = review.cases[of].figures[i];
      const double least = is_time(figure) ? kWorthTellingOfTimes : kWorthTelling;
      if (change_of(figure) == change && size_of(figure) >= least) out.push_back({of, i});
    }
  std::ranges::stable_sort(out, std::greater(), [&review](const Told& told) {
    const Figure& figure = review.cases[told.of].figures[told.figure];
    return std::pair(!is_time(figure), size_of(figure));
  });
  return out;
}

Result<Review> review(const Options& options, const app::Listener& listener) {
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
  for (const Case& one : out.cases)
    for (const Figure& figure : one.figures) out.timed = out.timed || is_time(figure);
  return out;
}

}  // namespace e4r::review
