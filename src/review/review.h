// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "age/profile.h"
#include "age/workload.h"
#include "app/capture_name.h"
#include "app/deciders.h"
#include "app/listener.h"
#include "results/rows.h"
#include "stats/free_extents.h"

// What `e4replay review` does: one policy against another, on captures of real kernels and on file
// systems that are aged, told as a cover letter tells it.
namespace e4r::review {

// A policy with its tunables.
struct Side {
  const allocator::Policy* policy = nullptr;
  std::vector<std::string> settings;         // each as NAME=VALUE
  std::optional<app::PolicyFile> file = {};  // that has its code, as it was read; none: it is ours
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
  unsigned repeats = 3;  // runs of each of two kernels, in turn, where they decide differently
};

// One figure of both policies.
struct Figure {
  const results::Row* row = nullptr;  // of results::rows(Teller::review)
  results::Value base, with;
  double noise = 0;  // a time: by what part of it times differ that should be alike
};
// Those that one of the two has, in the order of the rows.
[[nodiscard]] std::vector<Figure> figures_of(const results::Outcome& base,
                                             const results::Outcome& with);
// The key of the mean time of a request.
inline constexpr std::string_view kMeanTime = "decision_ns/mean";
// Those of guesses, which only cases with such requests have.
inline constexpr std::string_view kGuessedSizes = "guessed_sizes",
                                  kGuessedWriters = "guessed_writers";

enum class Change : std::uint8_t {
  unknown,  // one of the two has no such figure, or no way is better
  same,     // or a time that differs by no more than noise
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
  std::vector<Figure> figures;  // no times where both decided alike
  stats::FreeExtents free_base, free_with;
  bool alike = false;                // both decided every request alike
  std::vector<Figure> alike_times;   // the times of such a case: they show what noise is
  unsigned repeats = 1;              // runs that times are the medians of
  std::vector<std::string> caveats;  // what is doubtful of the input, or of the answers
  std::string refused;               // why it is not compared; empty: it is
  // How base and with failed: a kernel that hung or met an error, or a policy that gave an error.
  std::array<std::string, 2> failed = {};  // empty: it did not
};

// How far a time of a kernel differs from that of another one that decides alike.
struct Band {
  std::string key;        // of the figure
  std::size_t cases = 0;  // that were decided alike
  double width = 0;       // part of the time by which 19 of 20 of these differ at the most
};

// A caveat, and the cases that it is of.
struct Caveat {
  std::string text;
  std::vector<std::size_t> of;
};

struct Review {
  Side base, with;
  std::vector<Case> cases;      // captures in the order given, then the aged ones
  bool timed = false;           // the code of a kernel decided: some figures are times
  std::vector<Band> bands;      // of times
  std::vector<Caveat> caveats;  // equal ones of several cases are one
};

// Puts what the cases say together: bands of noise, which become the noise of the times of cases
// that were decided differently, and caveats, among them how many answers hung on guesses.
void conclude(Review& review);

// Replays and ages under both. A capture that the model does not follow, or for which a policy
// fails, is a case that is refused. Where one policy fails, the other one is run all the same. What
// inputs warn of becomes a caveat. Errors: an input that cannot be read; a policy's file that
// changed meanwhile; "stopped".
[[nodiscard]] Result<Review> review(const Options& options, const app::Listener& listener);

// A change of this size and more is listed. Times differ from run to run by a few percent.
inline constexpr double kWorthTelling = 0.01;
inline constexpr double kWorthTellingOfTimes = 0.1;
[[nodiscard]] bool is_time(const Figure& figure);

// The cases in which a policy failed.
struct Failures {
  std::vector<std::size_t> with;        // that of --with: nothing is worse
  std::vector<std::size_t> base_alone;  // that of --base, and not that of --with
  std::size_t both = 0;                 // of the first ones
  [[nodiscard]] const std::vector<std::size_t>& of(Change change) const {
    return change == Change::worse ? with : base_alone;
  }
};
[[nodiscard]] Failures failures_of(const Review& review);

// A figure of a case, by their places.
struct Told {
  std::size_t of = 0;  // the case
  std::size_t figure = 0;
};
// Those of the lists that changed so and by as much as is told, the largest change first, times
// behind all others.
[[nodiscard]] std::vector<Told> told(const Review& review, Change change);
// The largest few of each figure, figure by figure.
[[nodiscard]] std::vector<Told> largest(const Review& review, Change change);

// One figure over all cases that have it.
struct Summary {
  const results::Row* row = nullptr;
  std::size_t cases = 0;
  struct Way {
    std::size_t count = 0;  // of the cases, however small the change is
    Told median, most;      // of these cases: the one in the middle by size, and the largest
  } worse, better;
  [[nodiscard]] const Way& way(Change change) const {
    return change == Change::worse ? worse : better;
  }
};
// Of each figure of the lists, in their order, times last.
[[nodiscard]] std::vector<Summary> summaries(const Review& review);
// Those of which told() has something.
[[nodiscard]] std::vector<Summary> summaries_of(const Review& review, Change change);

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
