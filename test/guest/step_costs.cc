// SPDX-License-Identifier: GPL-2.0-or-later
// Measures how long the steps of decisions take in the code of a kernel, for the table in
// src/allocator/step_clock.cc. The kernel replays each capture, and its lock operations are
// recorded. The figures are means, or least-squares fits if two steps always occur together. The
// kernel's model also replays each capture. It must lock the same groups in the same order.
//   step_costs KERNEL MODEL CAPTURE...    captures: .e4c, or IMAGE,TRACE
// Exit status 1 if code and model lock different groups for a request.
#include <cstdio>
#include <numeric>

#include "app/comparison.h"
#include "app/setups.h"
#include "replay/engine.h"
#include "util/progress.h"

namespace e4r {
namespace {

// A fit y = constant + slope * x, by least squares.
struct Line {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  void add(double at, double value) { ++n, x += at, y += value, xx += at * at, xy += at * value; }
  [[nodiscard]] double slope() const {
    const double spread = n * xx - x * x;
    return spread > 0 ? (n * xy - x * y) / spread : 0;
  }
  [[nodiscard]] double mean() const { return n > 0 ? y / n : 0; }
  [[nodiscard]] double mean_x() const { return n > 0 ? x / n : 0; }
  [[nodiscard]] double constant() const { return n > 0 ? (y - slope() * x) / n : 0; }
};

struct Hold {
  std::uint64_t group = 0, from = 0, to = 0;
  [[nodiscard]] double ns() const { return static_cast<double>(to - from); }
};

struct Costs {
  Line before_mark, mark, after_mark;  // for requests served from a preallocation
  Line search, in_vain, take, mark_found, after_found;

  // Returns the periods during which the request held locks of groups.
  static std::vector<Hold> holds(const allocator::LockNotes::Request& request) {
    std::vector<Hold> out;
    for (const allocator::LockStep& step : request.steps) {
      if ((step.lock & allocator::LockStep::kOfGroup) == 0) continue;
      if (step.what == allocator::LockStep::What::let_go)
        out.back().to = step.ns;
      else
        out.push_back({step.lock, step.ns, step.ns});
    }
    return out;
  }

  // Returns whether the request generated a buddy. In this case it takes the lock of the buddy's
  // group twice in a row.
  static bool made_buddies(const std::vector<Hold>& held) {
    for (std::size_t i = 1; i + 1 < held.size(); ++i)
      if (held[i].group == held[i - 1].group) return true;
    return false;
  }

  void add(const allocator::LockNotes::Request& request, const replay::DecisionRow& row) {
    const std::vector<Hold> held = holds(request);
    if (row.served == replay::ServedBy::preallocation && held.size() == 1) {
      before_mark.add(0, static_cast<double>(held[0].from));
      mark.add(0, held[0].ns());
      after_mark.add(0, static_cast<double>(request.ns - held[0].to));
    }
    // Skips requests that generated buddies, which take much longer.
    if (!row.considered || row.served != replay::ServedBy::search || held.size() < 2 ||
        made_buddies(held))
      return;
    // In its last hold, a request marks the clusters. In the hold before that, it takes them from
    // the buddy. All earlier holds are unsuccessful searches.
    const Hold& marked = held.back();
    const Hold& taken = held[held.size() - 2];
    double lost = 0;
    for (std::size_t i = 0; i + 2 < held.size(); ++i) lost += held[i].ns();
    const auto groups = static_cast<double>(held.size() - 2);
    search.add(static_cast<double>(*row.considered), static_cast<double>(taken.from) - lost);
    if (groups > 0) in_vain.add(row.extents_examined / groups, lost / groups);
    if (groups == 0) take.add(row.extents_examined, taken.ns());
    mark_found.add(0, marked.ns());
    after_found.add(0, static_cast<double>(request.ns - marked.to));
  }

  void print() const {
    const auto line = [](const char* name, double value, double of) {
      std::printf("%-14s %8.0f ns   of %.0f\n", name, value, of);
    };
    line("before_mark", before_mark.constant(), before_mark.n);
    line("mark", mark.constant(), mark.n);
    line("after_mark", after_mark.constant(), after_mark.n);
    line("before_search", search.constant(), search.n);
    line("look", search.slope(), search.n);
    line("extent", take.slope(), take.n);
    line("take", take.constant(), take.n);
    // Examining an extent costs the same in an unsuccessful search. The rest of the time is the
    // walk through the bitmap.
    line("in_vain", in_vain.mean() - take.slope() * in_vain.mean_x(), in_vain.n);
    line("mark_found", mark_found.constant(), mark_found.n);
    line("after_found", after_found.constant(), after_found.n);
  }
};

// Counts all requests, and the requests for which model and code lock the same groups in the same
// order.
struct Alike {
  std::size_t requests = 0, same = 0, printed = 0;

  static std::vector<std::uint64_t> groups(const allocator::LockNotes::Request& request) {
    std::vector<std::uint64_t> out;
    for (const allocator::LockStep& step : request.steps)
      if ((step.lock & allocator::LockStep::kOfGroup) != 0 &&
          step.what != allocator::LockStep::What::let_go)
        out.push_back(step.lock);
    return out;
  }
  void add(const allocator::LockNotes& code, const allocator::LockNotes& model) {
    requests += std::max(code.size(), model.size());
    for (std::size_t i = 0; i < std::min(code.size(), model.size()); ++i) {
      const auto theirs = groups(code[i]), ours = groups(model[i]);
      if (theirs == ours) {
        ++same;
        continue;
      }
      if (printed++ >= 5) continue;
      std::printf("request %zu: code", i);
      for (const std::uint64_t lock : theirs) std::printf(" %u", static_cast<unsigned>(lock));
      std::printf("; model");
      for (const std::uint64_t lock : ours) std::printf(" %u", static_cast<unsigned>(lock));
      std::printf("\n");
    }
  }
};

Result<replay::Run> noted_run(const replay::Session& session, const allocator::Policy& policy,
                              const app::Inputs& inputs) {
  replay::Setup setup = make_setup(policy, inputs.recorded, inputs);
  setup.keep = [](replay::Accounts& accounts) {
    accounts.add<replay::DecisionRows>();
    accounts.add<replay::LockOperations>();
  };
  return session.what_if(setup);
}

Status replay_into(Costs& costs, Alike& alike, const allocator::Policy& policy,
                   const allocator::Policy& model, const std::string& capture) {
  app::InputOptions options;
  const std::size_t comma = capture.find(',');
  options.image = capture.substr(0, comma);
  if (comma != capture.npos) options.trace = capture.substr(comma + 1);
  Progress progress(false);
  const app::Listener listener = {progress, [](const std::string&) {}};
  E4R_TRY(const app::Inputs inputs, open_inputs(options, listener));
  replay::Session session(inputs.source, inputs.trace, session_options(inputs, progress));
  E4R_CHECK(session.follow_recorded({nullptr, inputs.recorded}).ok() ? Status()
                                                                     : error("cannot follow"));
  E4R_TRY(const replay::Run run, noted_run(session, policy, inputs));
  E4R_TRY(const replay::Run modelled, noted_run(session, model, inputs));
  const allocator::LockNotes& notes = run.engine->find<replay::LockOperations>()->notes();
  alike.add(notes, modelled.engine->find<replay::LockOperations>()->notes());
  const std::vector<replay::DecisionRow>& rows = run.engine->find<replay::DecisionRows>()->all();
  for (std::size_t i = 0; i < rows.size(); ++i) costs.add(notes[i], rows[i]);
  return {};
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 3) {
    std::fprintf(stderr, "usage: step_costs KERNEL MODEL CAPTURE...\n");
    return 2;
  }
  const auto policy = app::parse_policy("kernel:" + words[0]);
  const auto model = app::parse_policy(words[1]);
  Costs costs;
  Alike alike;
  Status status = !policy.ok() ? policy.error() : !model.ok() ? model.error() : Status();
  for (std::size_t i = 2; i < words.size() && status.ok(); ++i)
    status = replay_into(costs, alike, **policy, **model, words[i]);
  if (!status.ok()) {
    std::fprintf(stderr, "step_costs: %s\n", status.error().message.c_str());
    return 1;
  }
  costs.print();
  std::printf("%zu of %zu requests lock the same groups in code and model\n", alike.same,
              alike.requests);
  return alike.same == alike.requests ? 0 : 1;
}

}  // namespace
}  // namespace e4r

int main(int argc, char** argv) {
  return e4r::run({argv + 1, argv + argc});
}
