// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "app/listener.h"
#include "hunt/replayed.h"
#include "hunt/shrink.h"
#include "util/output.h"

// What `e4replay hunt` does: it looks for the case in which one policy is worst against another,
// makes it small, and writes it down as a capture.
namespace e4r::hunt {

struct Options {
  SearchOptions search;
  std::vector<std::string> tunables;  // that are chosen, by their names
  std::uint64_t largest = 0;          // bytes of a file system
  std::uint64_t shrink_trials = 1000;
  // The time for all of it, of which the search has three quarters; 0: trials alone end it.
  std::chrono::milliseconds most = {};
  OutputName output{""};  // the capture
  std::string command;    // that it is made by, for the capture
  std::string program;    // name and version, likewise
};

// One parameter of the case.
struct Choice {
  std::string name, text;
  bool plain = false;
};

// What there is to tell.
struct Hunt {
  SearchOptions search;
  SearchResult found;
  std::optional<Shrunk> shrunk;  // none: nothing was worse
  std::vector<Choice> choices;   // of the case
  std::vector<review::Figure> figures;
  std::uint64_t events = 0;  // of the capture
  Replayed replayed;         // the capture
};

// Errors: an image that cannot be made, a setting that is none, a kernel that does not start, an
// output that cannot be written; "stopped".
[[nodiscard]] Result<Hunt> hunt(const Options& options, ImageMaker make,
                                const app::Listener& listener, const std::atomic<bool>& stop);

// How much worse a case is, for a person: "12.5 times", "new" where there was nothing before, "its
// kernel fails", or "no worse"; also where there is none.
[[nodiscard]] std::string times_text(const Trial* trial);

// Who hunted, and by which command.
struct Made {
  std::string program;
  std::string command;
  std::string output;  // the capture's name
};
[[nodiscard]] std::string hunt_text(const Hunt& hunt, const Made& made);
// The document of schema e4replay-hunt/1.
[[nodiscard]] std::string hunt_json(const Hunt& hunt, const Made& made);

}  // namespace e4r::hunt
