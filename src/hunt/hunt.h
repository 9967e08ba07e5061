// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "hunt/shrink.h"
#include "util/output.h"

// Implements `e4replay hunt`: it looks for the case in which one policy is worst against another,
// reduces the case, and writes it as a capture.
namespace e4r::hunt {

struct HuntOptions {
  SearchOptions search;
  std::vector<std::string> tunables;  // names of the tunables to vary
  std::string start;                  // the file system of all cases; empty: invented ones
  std::uint64_t largest = 0;          // largest size of an invented file system in bytes
  std::uint64_t shrink_trials = 1000;
  // Time limit of the whole hunt; the search gets three quarters of it. 0: only the number of
  // trials ends the hunt.
  std::chrono::milliseconds most = {};
  OutputName output{""};  // the capture
  std::string command;    // command line of the hunt, stored in the capture
  std::string program;    // name and version, stored in the capture
};

// What the hunt chooses from. Errors: as of Space::create().
[[nodiscard]] Result<Space> space_of(const HuntOptions& options);

// One parameter of the case.
struct CaseParameter {
  std::string name, text;
  bool plain = false;
};

// The result of a hunt.
struct Hunt {
  SearchOptions search;
  std::string start;  // as in HuntOptions
  SearchResult found;
  std::optional<Shrunk> shrunk;        // empty: no case was worse
  std::vector<CaseParameter> choices;  // parameters of the case
  std::vector<review::Figure> figures;
  std::uint64_t events = 0;  // events in the capture
  Replayed replayed;         // the capture
};

// Errors: an image cannot be made, a setting is invalid, a kernel does not start, an output cannot
// be written; "stopped".
[[nodiscard]] Result<Hunt> hunt(const HuntOptions& options, ImageMaker make,
                                const app::Listener& listener);

// How much worse a case is, for a person: "12.5 times", "new" where there was nothing before, "its
// kernel fails", or "no worse"; null: "no worse".
[[nodiscard]] std::string times_text(const Trial* trial);

// The program and the command of a hunt.
struct HuntOrigin {
  std::string program;
  std::string command;
  std::string output;  // the capture's name
};
[[nodiscard]] std::string hunt_text(const Hunt& hunt, const HuntOrigin& origin);
// The document of schema e4replay-hunt/1.
[[nodiscard]] std::string hunt_json(const Hunt& hunt, const HuntOrigin& origin);

}  // namespace e4r::hunt
