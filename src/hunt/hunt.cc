// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/hunt.h"

#include <cmath>

#include "hunt/case_capture.h"
#include "util/units.h"

namespace e4r::hunt {
namespace {

std::vector<Choice> choices_of(const Space& space, const Levels& levels) {
  std::vector<Choice> out;
  for (std::size_t i = 0; i < levels.size(); ++i)
    out.push_back({space.parameters()[i].name, space.text(i, levels[i]), levels[i] == 0});
  return out;
}

}  // namespace

std::string times_text(const Trial* trial) {
  if (trial == nullptr || trial->score <= 0) return "no worse";
  if (!trial->failed[1].empty()) return "its kernel fails";
  if (!std::isinf(trial->times())) return fmt::format("{:.4g} times", trial->times());
  return trial->higher_is_better ? "nothing is left" : "new";
}

Result<Hunt> hunt(const Options& options, ImageMaker make, const app::Listener& listener) {
  using Clock = std::chrono::steady_clock;
  SearchOptions wanted = options.search;
  const Stoppable stoppable(stop_of(wanted));
  Clock::time_point end = Clock::now() + options.most * 3 / 4;
  if (options.most.count() > 0) wanted.enough = [&end] { return Clock::now() >= end; };
  E4R_TRY(const Space space, Space::create(options.largest, options.tunables));
  Starts starts(std::move(make));
  Hunt out;
  out.search = options.search;
  E4R_TRY(out.found, search(space, starts, wanted, [&](std::uint64_t trials, const Trial* worst) {
            listener.progress.show(fmt::format("{} of {} trials, worst: {}", format_count(trials),
                                               format_count(wanted.trials), times_text(worst)));
          }));
  if (!out.found.best) return out;
  end += options.most - options.most * 3 / 4;
  E4R_TRY(out.shrunk,
          shrink(space, starts, wanted, *out.found.best, options.shrink_trials,
                 [&](std::uint64_t trials, const Trial* now) {
                   listener.progress.show(fmt::format("making it smaller: {} trials, {}",
                                                      format_count(trials), times_text(now)));
                 }));
  out.choices = choices_of(space, out.shrunk->levels);
  const Scene& scene = out.shrunk->scene;
  const Trial& trial = out.shrunk->trial;
  if (!trial.has_failed()) out.figures = review::figures_of(trial.base, trial.with);
  E4R_TRY(out.events,
          write_case(scene, wanted.base, {options.program, options.command}, options.output));
  E4R_TRY(out.replayed, replay_case(options.output.path(), wanted, listener));
  return out;
}

}  // namespace e4r::hunt
