// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/deciders.h"
#include "state/fs_state.h"
#include "sweep/plan.h"

// What a sweep is told by: sweep.json in its directory.
namespace e4r::sweep {

// A capture and what shows that it is still the same.
struct CaptureId {
  std::string name;               // as it was given
  std::uint64_t trace_bytes = 0;  // of the file that has the events
  std::uint32_t trace_sum = 0;    // its CRC-32C
  std::uint32_t image_sum = 0;    // of what a replay takes from the start image
  allocator::Tunables recorded;
};

// Of those policies of the plan that are files. The error says what cannot be read.
[[nodiscard]] Result<std::vector<app::PolicyFile>> identify_policy_files(const PlanSpec& spec);

// Puts size and checksum of a regular file into the id; the error says what cannot be read.
[[nodiscard]] Status identify_trace(const std::string& path, CaptureId& id);
// A checksum of what a replay takes from a start image: shape, bitmaps, metadata.
[[nodiscard]] std::uint32_t source_sum(const state::Source& source);

// Points of a plan, by number: first to last, both included.
struct Range {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
  [[nodiscard]] bool holds(std::size_t index) const { return index + 1 >= first && index < last; }
  [[nodiscard]] std::uint64_t count() const { return last - first + 1; }
};
[[nodiscard]] Range all_of(const Plan& plan);

// "A-B" or "A". Errors: no such range, points that the plan does not have.
[[nodiscard]] Result<Range> parse_range(std::string_view text, const Plan& plan);

// The document (schema e4replay-sweep/1), with a newline. `program`: name, version and commit; two
// of them need not decide alike.
[[nodiscard]] std::string manifest_text(std::string_view program, const Plan& plan,
                                        const std::vector<CaptureId>& captures,
                                        const std::vector<app::PolicyFile>& files,
                                        const Range& range);

// The sweep that a manifest_text() is of a part of, or all: its plan, made anew, and the document
// that the whole sweep has. Errors: no such document, one of another program than `program`, one
// that does not tell of the points that it says it has.
struct WholeManifest {
  Plan plan;
  std::string text;
};
[[nodiscard]] Result<WholeManifest> whole_manifest(std::string_view text, std::string_view program);
// The part of the plan that the document is of. The error says what is wrong with it.
[[nodiscard]] Result<Range> range_of(std::string_view text, const Plan& plan);

// What makes the directory's document another sweep's than `wanted`, both manifest_text(): one line
// that names what differs. Error too: `found` is no such document.
[[nodiscard]] Status same_sweep(std::string_view found, std::string_view wanted);

}  // namespace e4r::sweep
