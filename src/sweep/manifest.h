// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/setups.h"
#include "state/fs_state.h"
#include "sweep/plan.h"

// sweep.json, the file that identifies the sweep in a directory.
namespace e4r::sweep {

// A capture, with checksums that reveal a change.
struct CaptureId {
  std::string name;               // as the user gave it
  std::uint64_t trace_bytes = 0;  // size of the file with the events
  std::uint32_t trace_sum = 0;    // its CRC-32C
  std::uint32_t image_sum = 0;    // checksum of the parts of the start image that a replay uses
  allocator::Tunables recorded;
};

// Identifies the plan's policies that come from files. The Error says what cannot be read.
[[nodiscard]] Result<std::vector<app::PolicyFile>> identify_policy_files(const PlanSpec& spec);

// Fills in the size and the checksum of a regular file. Fails if it cannot be read.
[[nodiscard]] Status identify_trace(const std::string& path, CaptureId& id);
// A checksum of the parts of a start image that a replay uses: geometry, bitmaps, metadata.
[[nodiscard]] std::uint32_t source_sum(const state::Source& source);

// The points numbered `first` to `last` of a plan, both included.
struct PointRange {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
  [[nodiscard]] bool holds(std::size_t index) const { return index + 1 >= first && index < last; }
  [[nodiscard]] std::uint64_t count() const { return last - first + 1; }
};
[[nodiscard]] PointRange all_of(const Plan& plan);

// Parses "A-B" or "A". Errors: an invalid range; points that the plan does not have.
[[nodiscard]] Result<PointRange> parse_range(std::string_view text, const Plan& plan);

// The document (schema e4replay-sweep/1), with a newline. `program` is a name, a version and a
// commit. It is recorded because different programs may decide differently.
[[nodiscard]] std::string manifest_text(std::string_view program, const Plan& plan,
                                        const std::vector<CaptureId>& captures,
                                        const std::vector<app::PolicyFile>& files,
                                        const PointRange& range);

// Rebuilds the whole sweep from a manifest_text() of all or part of it. Errors: the text is not
// such a document; a program other than `program` made it; its points do not match the rest of the
// document.
struct WholeManifest {
  Plan plan;
  std::string text;
};
[[nodiscard]] Result<WholeManifest> whole_manifest(std::string_view text, std::string_view program);
// The range of the plan that the document covers. The Error says what is wrong with the document.
[[nodiscard]] Result<PointRange> range_of(std::string_view text, const Plan& plan);

// Compares two documents of manifest_text(). Returns an Error unless they describe the same sweep.
// It names the first difference in one line, or says that `found` is not such a document.
[[nodiscard]] Status same_sweep(std::string_view found, std::string_view wanted);

}  // namespace e4r::sweep
