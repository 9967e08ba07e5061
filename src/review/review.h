// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "age/profile.h"
#include "age/workload.h"
#include "app/inputs.h"
#include "app/setups.h"
#include "results/rows.h"
#include "stats/free_extents.h"

// Implements `e4replay review`: it compares one policy with another on captures of real kernels and
// on aged file systems, and describes the result for a cover letter.
namespace e4r::review {

// A policy with its tunables.
struct Side {
  const allocator::Policy* policy = nullptr;
  std::vector<std::string> settings;         // each as NAME=VALUE
  std::optional<app::PolicyFile> file = {};  // the policy's code, as it was read; empty if built-in
};

// A file system that both policies age from the same start.
struct AgeingCase {
  age::Profile profile;
  std::string image_path;  // path of the start image, used in messages
  std::string image_name;
  age::Until until;
  std::uint64_t seed = 1;
};

struct ReviewOptions {
  Side base, with;
  std::vector<app::CaptureName> captures;
  std::vector<AgeingCase> ageing;
  bool force = false;    // also compare on captures whose recorded decisions the model does not
                         // follow
  unsigned threads = 0;  // 0: one per CPU
  unsigned repeats = 3;  // runs of each of two kernels that decide differently; they take turns
};

// The names of the cases (Case::name), in their order.
[[nodiscard]] std::vector<std::string> case_names(const ReviewOptions& options);

// One figure under both policies.
struct Figure {
  const results::Row* row = nullptr;  // one of results::rows(Reporter::review)
  results::Value base, with;
  // The relative difference between results that should be equal. For a time, it is measured
  // between runs. For any other figure, it is the variation by chance (results::luck_of).
  double noise = 0;
};
// Returns the figures that at least one of the two outcomes has, in the order of the rows.
[[nodiscard]] std::vector<Figure> figures_of(const results::Outcome& base,
                                             const results::Outcome& with);
// The key of the mean time of a request.
inline constexpr std::string_view kMeanTime = "decision_ns/mean";

enum class Change : std::uint8_t {
  unknown,  // a policy lacks the figure, or neither direction is better
  same,     // includes a figure that differs by at most the noise
  better,
  worse,
};
[[nodiscard]] Change change_of(const Figure& figure);
// Returns the relative size of the change: 0.5 for a change from 100 to 150 or to 50; infinite for
// a change from 0.
[[nodiscard]] double size_of(const Figure& figure);

// A capture, or an aged file system.
struct Case {
  std::string name;         // "posting-256g", "age: agrawal"
  std::string where;        // name of the capture as given, or of the start image
  bool aged = false;        // an aged file system, not a capture
  std::string kernel;       // the recorded kernel; empty for an aged file system
  std::uint64_t bytes = 0;  // size of the file system
  std::uint32_t block_size = 0;
  std::uint64_t decisions = 0;      // comparable recorded decisions
  std::uint64_t followed = 0;       // decisions that the model of the recorded kernel made, too
  std::string recorded_policy;      // the name of that model
  std::optional<bool> kernels_own;  // whether that model counts as the kernel's own policy; empty
                                    // if unknown
  std::vector<Figure> figures;      // without times if both policies made the same decisions
  stats::FreeExtents free_base, free_with;
  bool alike = false;                // both policies made the same decision for every request
  std::vector<Figure> alike_times;   // if `alike`: the times, whose differences are only noise
  unsigned repeats = 1;              // the times are the median of this many runs
  std::vector<std::string> caveats;  // doubts about the input or the results
  std::string refused;               // why the case is not compared; empty if it is
  // How each side failed, base first: a kernel that hung or met an error, or a policy that returned
  // an error.
  std::array<std::string, 2> failed = {};  // empty if it did not fail
};

// The noise in a time figure, measured in cases where both kernels made the same decisions.
struct Band {
  std::string key;        // key of the figure
  std::size_t cases = 0;  // number of these cases
  double width = 0;       // relative difference that 19 of 20 of these cases do not exceed
};

// A caveat, and the cases to which it applies.
struct Caveat {
  std::string text;
  std::vector<std::size_t> of;
};

struct Review {
  Side base, with;
  std::vector<Case> cases;      // captures in the given order, then aged file systems
  bool timed = false;           // a kernel's code decided, so there are times
  std::vector<Band> bands;      // noise of the times
  std::vector<Caveat> caveats;  // equal caveats of several cases are merged
};

// Completes the review once all its cases are known. In cases that were decided differently, the
// noise of times is set from the bands. Equal caveats are merged, and a caveat is added for
// decisions that depended on guesses.
void conclude(Review& review);

// Replays and ages under both policies. A capture that the model does not follow, or on which a
// policy fails, becomes a refused case. If one policy fails, the other one still runs. Warnings
// about inputs become caveats. Errors: an input that cannot be read; a policy's file that changed
// meanwhile; "stopped".
[[nodiscard]] Result<Review> review(const ReviewOptions& options, const app::Listener& listener);

// The smallest relative changes that are listed. Times vary from run to run by a few percent.
inline constexpr double kWorthTelling = 0.01;
inline constexpr double kWorthTellingOfTimes = 0.1;
[[nodiscard]] bool is_time(const Figure& figure);

// The cases in which a policy failed.
struct Failures {
  std::vector<std::size_t> with;        // cases in which --with failed, which is the worst result
  std::vector<std::size_t> base_alone;  // cases in which --base failed and --with did not
  std::size_t both = 0;                 // number of cases in `with` in which --base failed, too
  [[nodiscard]] const std::vector<std::size_t>& of(Change change) const {
    return change == Change::worse ? with : base_alone;
  }
};
[[nodiscard]] Failures failures_of(const Review& review);

// Refers to a figure of a case in a review.
struct CaseFigure {
  std::size_t of = 0;  // index of the case
  std::size_t figure = 0;
};
// The figures that changed in this direction by at least kWorthTelling. The largest change comes
// first, and times come last.
[[nodiscard]] std::vector<CaseFigure> list_changed(const Review& review, Change change);
// The few largest changes of each figure, figure by figure.
[[nodiscard]] std::vector<CaseFigure> list_largest(const Review& review, Change change);

// One figure over all cases with that figure.
struct Summary {
  const results::Row* row = nullptr;
  std::size_t cases = 0;
  struct Way {
    std::size_t count = 0;    // cases, including very small changes
    CaseFigure median, most;  // among these cases: the median by size, and the largest
  } worse, better;
  [[nodiscard]] const Way& way(Change change) const {
    return change == Change::worse ? worse : better;
  }
};
// One summary for each figure that list_changed() can contain, in the same order, with times last.
[[nodiscard]] std::vector<Summary> summaries(const Review& review);
// Returns only the summaries that have entries in list_changed().
[[nodiscard]] std::vector<Summary> summaries_of(const Review& review, Change change);

// The program and the command of a review.
struct ReviewOrigin {
  std::string program;               // name and version
  std::vector<std::string> command;  // its words, quoted for a shell where necessary
};

// Plain text for a cover letter: ASCII except for names, and no line longer than 72 columns unless
// it is one word. Regressions come first.
[[nodiscard]] std::string review_text(const Review& review, const ReviewOrigin& origin);
// The same content as an HTML page.
[[nodiscard]] std::string review_html(const Review& review, const ReviewOrigin& origin);
// The JSON document (schema e4replay-review/1).
[[nodiscard]] std::string review_json(const Review& review, const ReviewOrigin& origin);

// Parts shared by the documents of reviews and hunts.

[[nodiscard]] boost::json::object side_json(const Side& side);
[[nodiscard]] boost::json::object figure_json(const Figure& figure);

}  // namespace e4r::review
