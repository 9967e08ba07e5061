// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "app/inputs.h"
#include "hunt/shrink.h"
#include "util/output.h"

// Implements `e4replay hunt`: it searches for the case in which one policy compares worst with
// another, reduces the case, and writes it as a capture.
namespace e4r::hunt {

struct HuntOptions {
  SearchOptions search;
  std::vector<std::string> tunables;  // names of the tunables to vary
  std::string start;                  // the file system of all cases; empty: generated ones
  std::uint64_t largest = 0;          // largest size of a generated file system in bytes
  std::uint64_t shrink_trials = 1000;
  // The time limit of the whole hunt. The search gets three quarters of it. If the limit is 0, the
  // number of trials alone ends the hunt.
  std::chrono::milliseconds most = {};
  OutputName output{""};  // the capture
  std::string command;    // command line of the hunt, stored in the capture
  std::string program;    // name and version, stored in the capture
};

// The space of candidates of the hunt. Errors: as for Space::create().
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
  std::optional<Shrunk> shrunk;        // nullopt: no case was worse
  std::vector<CaseParameter> choices;  // parameters of the case
  std::vector<review::Figure> figures;
  std::uint64_t events = 0;  // events in the capture
  Replayed replayed;         // the capture
};

// Searches for the worst case, and writes it as a capture. Errors: an image cannot be made; an
// invalid setting; a kernel that does not start; an output that cannot be written; "stopped".
[[nodiscard]] Result<Hunt> hunt(const HuntOptions& options, ImageMaker make,
                                const app::Listener& listener);

// Says how much worse a case is: "12.5 times", "new" if the first policy's value is 0, "its kernel
// fails", or "no worse" (also if `trial` is null).
[[nodiscard]] std::string times_text(const Trial* trial);

// The program and the command of a hunt.
struct HuntOrigin {
  std::string program;
  std::string command;
  std::string output;  // the capture's name
};
[[nodiscard]] std::string hunt_text(const Hunt& hunt, const HuntOrigin& origin);
// The JSON document (schema e4replay-hunt/1).
[[nodiscard]] std::string hunt_json(const Hunt& hunt, const HuntOrigin& origin);

}  // namespace e4r::hunt
