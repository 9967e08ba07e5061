// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "age/profile.h"
#include "age/workload.h"
#include "app/capture_name.h"
#include "app/listener.h"
#include "report/rows.h"
#include "stats/free_extents.h"

// What `e4replay review` does: one policy against another, on captures of real kernels and on file
// systems that are aged, told as a cover letter tells it.
namespace e4r::review {

// A policy with its tunables.
struct Side {
  const allocator::Policy* policy = nullptr;
  std::vector<std::string> settings;  // each as NAME=VALUE
};

// A file system that both policies age, from the same start.
struct AgeingCase {
  age::Profile profile;
  std::string image_path;  // of the start image, and what messages call it
  std::string image_name;
  age::Until until;
  std::uint64_t seed = 1;
};

struct Options {
  Side base, with;
  std::vector<app::CaptureName> captures;
  std::vector<AgeingCase> ageing;
  bool force = false;    // compare on captures that the model does not follow as well
  unsigned threads = 0;  // 0: one per CPU
};

// One figure of both policies. Which way it is better says what is worse.
struct Figure {
  std::string key;    // in the JSON document, levels separated by '/'
  std::string label;  // with its unit, up to 22 bytes
  report::Better better = report::Better::none;
  report::Value base, with;
};

enum class Change : std::uint8_t {
  unknown,  // one of the two has no such figure, or no way is better
  same,
  better,
  worse,
};
[[nodiscard]] Change change_of(const Figure& figure);
// How large the change is: 0.5 for from 100 to 150 or to 50; infinite from 0 to more.
[[nodiscard]] double size_of(const Figure& figure);

// A capture, or a file system that was aged.
struct Case {
  std::string name;         // "posting-256g", "age: agrawal"
  std::string where;        // the capture as it was given, or the start image
  bool aged = false;        // and no capture
  std::string kernel;       // that was recorded; of an aged one: empty
  std::uint64_t bytes = 0;  // of the file system
  std::uint32_t block_size = 0;
  std::uint64_t decisions = 0;  // recorded ones that could be compared, and of these those that the
  std::uint64_t followed = 0;   // model of the recorded kernel makes, too
  std::string recorded_policy;  // that model
  std::vector<Figure> figures;
  stats::FreeExtents free_base, free_with;
  bool alike = false;   // both decided every request alike
  std::string refused;  // why there is no answer; empty: there is one
};

struct Review {
  Side base, with;
  std::vector<Case> cases;  // captures in the order given, then the aged ones
  bool timed = false;       // the code of a kernel decided: some figures are times
};

// Replays and ages under both. A capture that the model does not follow, or that a policy cannot
// decide for, is a case that is refused. Errors: an input that cannot be read; a setting that is
// none; "stopped".
[[nodiscard]] Result<Review> review(const Options& options, const app::Listener& listener);

// A change of this size and more is listed. Times differ from run to run by a few percent.
inline constexpr double kWorthTelling = 0.01;
inline constexpr double kWorthTellingOfTimes = 0.1;
[[nodiscard]] bool is_time(const Figure& figure);

// A figure of a case, by their places.
struct Told {
  std::size_t of = 0;  // the case
  std::size_t figure = 0;
};
// Those that changed so and by as much as is told, the largest change first, times behind all
// others.
[[nodiscard]] std::vector<Told> told(const Review& review, Change change);

// Who made a review, and by which command.
struct Made {
  std::string program;               // name and version
  std::vector<std::string> command;  // its words, as a shell takes them
};

// Plain text for a cover letter: ASCII but for names, no line longer than 72 columns unless a word
// is. What is worse comes first.
[[nodiscard]] std::string review_text(const Review& review, const Made& made);
// The same as a page.
[[nodiscard]] std::string review_html(const Review& review, const Made& made);
// The document of schema e4replay-review/1.
[[nodiscard]] std::string review_json(const Review& review, const Made& made);

}  // namespace e4r::review
