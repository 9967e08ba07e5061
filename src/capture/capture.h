// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/container.h"
#include "capture/image_parts.h"
#include "trace/e4t/file.h"
#include "trace/event.h"
#include "trace/packed.h"
#include "trace/summary.h"
#include "util/status.h"

// Facts that a recorder saves besides the events, the image and the kernel's own files. Stored as
// JSON with the names of the members.
namespace e4r::capture {

// Facts known at the start.
struct StartFacts {
  std::string recorder;        // program and version
  std::string time;            // UTC, ISO 8601
  std::string kernel;          // as `uname -r`
  std::string kernel_version;  // as `uname -v`
  std::string machine;         // as `uname -m`
  std::string device;          // MAJOR:MINOR
  std::string device_name;     // the kernel's name for the device: "sda1"
  std::string mount_point;
  std::string mount_options;
  std::string command;   // empty if no command was run
  std::string clock;     // trace clock
  std::string events;    // "minimal" or "full"
  std::string snapshot;  // how the start image was taken: "freeze", "unmounted", ...
  std::uint32_t possible_cpus = 0;
  bool rotational = false;
  bool mounted = false;  // the file system was in use before recording began
  bool settled = false;  // unused inodes were dropped from the cache first
  bool ordered = false;  // probes show the order in which allocations and commits took effect
  double frozen_s = 0;   // time for which writers were blocked for the start image
};

// The number of events that one CPU's buffer lost.
struct Losses {
  std::uint32_t cpu = 0;
  std::uint64_t events = 0;
};

// Facts known at the end. Missing in a truncated capture.
struct EndFacts {
  std::string time;    // UTC, ISO 8601
  std::string reason;  // "command ended", "time is up", "interrupted", ...
  std::optional<std::int64_t>
      exit_status;  // exit status of the command; 128 + N if signal N ended it
  double elapsed_s = 0;
  double frozen_s = 0;  // time for which writers were blocked at the end
  std::uint64_t events = 0;
  std::vector<Losses> lost;
  bool quiet = false;      // the kernel's files show the state right after the last event
  bool unordered = false;  // the probes of StartFacts::ordered saw nothing
  std::vector<std::string>
      changes;  // changes of the file system during the recording: a remount, ...
};

// The total number of events lost by all CPUs.
[[nodiscard]] std::uint64_t all_lost(const std::vector<Losses>& lost);

// Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string to_json(const StartFacts& facts);
[[nodiscard]] std::string to_json(const EndFacts& facts);
// Missing members keep their defaults; unknown ones are ignored. Strings may have bytes that are
// not UTF-8. Errors: not a JSON object; a member of the wrong type.
[[nodiscard]] Result<StartFacts> parse_start_facts(std::string_view json);
[[nodiscard]] Result<EndFacts> parse_end_facts(std::string_view json);

// The comma-separated mount options without repetitions. mountinfo lists the options of the mount
// and the options of the file system. Some options are in both lists ("rw").
[[nodiscard]] std::string each_option_once(std::string_view options);

// The names of texts in a capture.
namespace text_name {
inline constexpr std::string_view kStart = "start.json";
inline constexpr std::string_view kEnd = "end.json";
inline constexpr std::string_view kCheckpoint = "start/checkpoint";
inline constexpr std::string_view kStartMemory = "start/memory";
inline constexpr std::string_view kTunables = "tunables";
inline constexpr std::string_view kStartGroups = "start/mb_groups";
inline constexpr std::string_view kStartStats = "start/mb_stats";
inline constexpr std::string_view kEndGroups = "end/mb_groups";
inline constexpr std::string_view kEndStats = "end/mb_stats";
}  // namespace text_name

// Whether the file begins like an .e4c file. False if it cannot be read.
[[nodiscard]] bool is_capture(const std::string& path);

// An .e4c file: start image, events, and the recorder's notes. Movable.
class Capture {
 public:
  // Reads everything except the events, and verifies only the checksums of the events. A truncated
  // file can be opened; notes() then says that it is truncated. Damage anywhere is an Error.
  [[nodiscard]] static Result<Capture> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const StartFacts& start() const { return start_; }
  // Null if the file is truncated.
  [[nodiscard]] const EndFacts* end() const { return ended_ ? &end_ : nullptr; }
  // The text of that name, or null.
  [[nodiscard]] const std::string* text(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& texts() const {
    return texts_;
  }
  // Empty if no image was recorded.
  [[nodiscard]] const MemoryImage& image() const { return image_; }
  // Human-readable lines about truncation and lost events.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] bool cut_short() const { return cut_short_; }
  // Whether the end is missing because a recorder on this machine is still writing the file.
  [[nodiscard]] bool is_being_recorded() const { return is_being_recorded_; }

  // Opens the events like an .e4t file.
  [[nodiscard]] Result<std::unique_ptr<trace::Trace>> open_trace(
      const trace::ReadOptions& options = {}) const;
  [[nodiscard]] Result<trace::PackedTrace> load_trace(const trace::ReadOptions& options = {},
                                                      trace::EventSink* sink = nullptr) const;

 private:
  Status read();
  Status add_text(std::string_view part);

  std::string path_;
  StartFacts start_;
  EndFacts end_;
  bool ended_ = false;
  bool cut_short_ = false;
  bool is_being_recorded_ = false;
  std::map<std::string, std::string, std::less<>> texts_;
  std::size_t text_bytes_ = 0;  // total size of all texts
  MemoryImage image_;
};

// Writes an .e4c file during a recording. Calls must come in the order of the file: start(), text()
// and image(), events(), end_events(), text(), finish().
class CaptureWriter {
 public:
  // Writes to `file`, or to a new file `name`. No file of that name may exist.
  [[nodiscard]] static Result<std::unique_ptr<CaptureWriter>> create(const OutputName& name);
  // `version` must be kCheckpointVersion for a capture with a checkpoint.
  [[nodiscard]] static Result<std::unique_ptr<CaptureWriter>> create(
      std::unique_ptr<trace::OutputFile> file, std::uint16_t version = kVersion);

  [[nodiscard]] Status start(const StartFacts& facts);
  // A name has at most 255 bytes and must not be text_name::kStart or kEnd.
  [[nodiscard]] Status text(std::string_view name, std::string_view text);
  // Writes one part from an ImagePacker.
  [[nodiscard]] Status image(std::string_view part);
  [[nodiscard]] Status events(std::span<const trace::Event> events, trace::Generation generation);
  // Writes all events so far to the file, so no event is lost if the recorder is killed.
  [[nodiscard]] Status flush();
  // Ends the events.
  [[nodiscard]] Status end_events(const trace::TraceSummary& summary);
  [[nodiscard]] Status finish(const EndFacts& facts);
  // Removes the file if nothing was recorded.
  void abandon() { container_.abandon(); }
  [[nodiscard]] std::uint64_t bytes_written() const { return container_.bytes_written(); }

 private:
  explicit CaptureWriter(ContainerWriter container) : container_(std::move(container)) {}
  Status hand_over(std::size_t beyond);

  ContainerWriter container_;
  std::string buffer_;
  trace::e4t::Writer e4t_{buffer_};
  bool began_ = false;
};

}  // namespace e4r::capture
