// SPDX-License-Identifier: GPL-2.0-or-later
#include <pybind11/stl.h>

#include <e4replay/recording.h>
#include <e4replay/replay.h>

#include "arrays.h"
#include "calls.h"
#include "decisions.h"
#include "events.h"
#include "module.h"

namespace e4replay::python {
namespace {

// Returns the listener of a Sweep. A Sweep outlives single calls, so its listener forwards to the
// thread's current call.
Listener listener_of_calls() {
  Listener out;
  out.warn = [](std::string_view line) {
    if (Call::current() != nullptr) Call::current()->note_warning(line);
  };
  out.progress = [](std::string_view, std::uint64_t, std::uint64_t) {
    return Call::current() == nullptr || !Call::current()->stopped();
  };
  return out;
}

Recording open(const std::string& image, const std::string& trace, const std::string& tunables,
               const TraceOptions& events, bool any_ratio, bool strict, unsigned threads) {
  return long_call([&](const Listener& listener) {
    const RecordingOptions options = {image, trace, tunables, events, strict, threads};
    return any_ratio ? Recording::open_any_ratio(options, listener)
                     : Recording::open(options, listener);
  });
}

Report replay_of(const Recording& recording, const std::vector<std::string>& policies,
                 const std::vector<std::string>& settings, bool force, bool check,
                 unsigned threads) {
  return long_call([&](const Listener& listener) {
    return replay(recording, {policies, settings, force, check, threads}, listener);
  });
}

Report verify_of(const Recording& recording, const std::string& policy,
                 const std::vector<std::string>& settings, bool free_run, bool check,
                 unsigned threads) {
  return long_call([&](const Listener& listener) {
    return verify(recording, {policy, settings, free_run, check, threads}, listener);
  });
}

Sweep follow(const Recording& recording, bool force) {
  return long_call(
      [&](const Listener&) { return Sweep::follow(recording, force, listener_of_calls()); });
}

Report point(const Sweep& sweep, const std::string& policy,
             const std::vector<std::string>& settings) {
  return long_call([&](const Listener&) { return sweep.point(policy, settings); });
}

Decisions decisions_of(const Sweep& sweep, const std::string& policy,
                       const std::vector<std::string>& settings) {
  const auto rows = std::make_shared<std::vector<DecisionRow>>();
  Report report = long_call([&](const Listener&) {
    const Call* const call = Call::current();
    return sweep.decisions(policy, settings, [&](const ReplayedDecision& decision) {
      rows->push_back(row_of(decision));
      return !call->stopped();
    });
  });
  return {rows, std::move(report)};
}

}  // namespace

void define_recordings(py::module_& module) {
  define_decisions(module);
  py::class_<Recording>(module, "Recording", "The core of e4replay.Capture.")
      .def_static("open",
                  [](const std::string& image, const std::string& trace,
                     const std::string& tunables, const std::string& device,
                     const std::string& generation, const std::optional<std::string>& buffer,
                     bool lenient, bool any_ratio, bool strict, unsigned threads) {
                    return open(image, trace, tunables, {device, generation, buffer, lenient},
                                any_ratio, strict, threads);
                  })
      .def("image", &Recording::image)
      .def("events", [](const Recording& of) { return std::make_unique<Events>(of.events()); })
      .def("event_count", &Recording::event_count)
      .def("release", [](const Recording& of) { return text(of.release()); })
      .def("tunables", [](const Recording& of) { return texts(of.tunables()); })
      .def("replay", replay_of)
      .def("verify", verify_of)
      .def("follow", follow);
  py::class_<Sweep>(module, "Sweep", "The core of e4replay.Sweep.")
      .def("point", point)
      .def("decisions", decisions_of);
}

}  // namespace e4replay::python
