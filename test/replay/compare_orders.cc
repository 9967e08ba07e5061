// SPDX-License-Identifier: GPL-2.0-or-later
// Compares the order of effect that `e4replay record --events full` recorded with its probes to the
// order that OrderSearch finds without them.
//   compare_orders FILE.e4c
// Prints a JSON object: the number of decisions; how many overlapped with another allocation; how
// many differ from the kernel's decisions in the recorded order, and how many in the found order;
// and how many allocations must move to turn one order into the other. If no decision differs,
// these allocations commute: either order gives all recorded decisions.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "app/setups.h"
#include "replay/accounts.h"
#include "replay/engine.h"
#include "replay/session.h"
#include "support/busy_fs.h"
#include "util/progress.h"

namespace e4r {
namespace {

// The allocations in the order in which they took effect, as numbers of requests.
struct Order : replay::Account {
  void taken(const replay::Op& op) override {
    if (op.kind != replay::Op::Kind::allocate) return;
    requests.push_back(op.request);
    if (op.race == replay::Race::allocator) ++overlapped;
  }
  std::vector<std::uint64_t> requests;
  std::uint64_t overlapped = 0;
};

struct Followed {
  Order order;
  std::uint64_t decisions = 0, differing = 0;
};

Result<Followed> follow(const app::Inputs& inputs, const trace::PackedTrace& trace,
                        Progress& progress) {
  replay::Session session(inputs.source, trace, app::session_options(inputs, progress));
  replay::Setup setup = {nullptr, inputs.recorded};
  setup.keep = [](replay::Accounts& accounts) { accounts.add<Order>(); };
  E4R_TRY(const replay::Run run, session.follow_recorded(setup));
  const replay::Agreement& agreement = run.engine->agreement();
  return Followed{*run.engine->find<Order>(), agreement.requests, agreement.differing()};
}

// The least number of elements of `b` that must move to get the order of `a`. Both have the same
// elements.
std::size_t moves(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::map<std::uint64_t, std::size_t> places;
  for (std::size_t i = 0; i < a.size(); ++i) places[a[i]] = i;
  std::vector<std::size_t> ends;  // the longest ascending sequence, by its length
  for (const std::uint64_t request : b) {
    const std::size_t place = places.at(request);
    const auto longer = std::ranges::lower_bound(ends, place);
    if (longer == ends.end())
      ends.push_back(place);
    else
      *longer = place;
  }
  return b.size() - ends.size();
}

// The trace without the events of the probes.
Result<trace::PackedTrace> without_probes(const trace::PackedTrace& trace) {
  std::vector<trace::Event> events;
  const auto all = trace.cursor();
  for (;;) {
    E4R_TRY(const auto batch, all->next());
    if (batch.empty()) break;
    for (const trace::Event& event : batch)
      if (event.kind != trace::EventKind::mark_used && event.kind != trace::EventKind::mark_freed)
        events.push_back(event);
  }
  return test::packed_trace(events, trace.summary().generation);
}

Status compare(const std::string& file) {
  Progress progress(false);
  const app::Listener listener = {
      progress, [](const std::string& text) { fmt::print(stderr, "{}\n", text); }};
  app::InputOptions options;
  options.image = file;
  E4R_TRY(const app::Inputs inputs, app::open_inputs(options, listener));
  if (inputs.trace.summary().count(trace::EventKind::mark_used) == 0)
    return error("{}: has no events of probes", file);
  E4R_TRY(const trace::PackedTrace bare, without_probes(inputs.trace));
  E4R_TRY(const Followed recorded, follow(inputs, inputs.trace, progress));
  E4R_TRY(const Followed found, follow(inputs, bare, progress));
  if (!std::ranges::is_permutation(recorded.order.requests, found.order.requests))
    return error("{}: the two runs made different requests", file);
  fmt::print(
      "{{\"decisions\": {}, \"overlapped\": {}, \"differ_recorded\": {}, \"differ_found\": {}, "
      "\"moves\": {}}}\n",
      recorded.decisions, found.order.overlapped, recorded.differing, found.differing,
      moves(recorded.order.requests, found.order.requests));
  return {};
}

}  // namespace
}  // namespace e4r

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: compare_orders FILE.e4c\n");
    return 2;
  }
  const e4r::Status done = e4r::compare(argv[1]);
  if (done.ok()) return 0;
  fmt::print(stderr, "compare_orders: {}\n", done.error().message);
  return 1;
}
