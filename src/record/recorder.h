// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "record/tracer.h"
#include "record/volume.h"
#include "util/status.h"

namespace e4r::record {

// The source of the start image.
enum class Snapshot : std::uint8_t {
  automatic,  // freeze if mounted, otherwise unmounted
  freeze,     // the mounted file system, frozen while its bitmaps are read
  reflink,    // a reflinked copy of the loop device's file, made during a freeze
  unmounted,  // the device, before its mount
  none,       // no start image: a replay needs one from elsewhere
};
[[nodiscard]] Result<Snapshot> parse_snapshot(const std::string& name);
[[nodiscard]] const char* snapshot_name(Snapshot snapshot);

struct RecorderOptions {
  std::string target;
  std::string output;
  Snapshot snapshot = Snapshot::automatic;
  TraceClock clock = TraceClock::mono;
  std::size_t buffer_kb = 4096;
  std::chrono::milliseconds max_freeze{2000};
  bool full = false;    // record file sizes and open writers, which no event carries (InputReader)
  bool settle = false;  // first drop inodes from the cache, and with them preallocations
  std::string command;  // the command that will run, for the capture's facts
  std::string program;  // name and version of the recording program
};

// The progress of a recording.
struct SoFar {
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::uint64_t file_bytes = 0;
  std::size_t buffer_kb = 0;  // for each CPU
};

// Records one file system into an .e4c file. However the object ends, the machine returns to its
// earlier state: the tracing instance is removed, the file system thawed, mb_stats restored.
class Recorder {
 public:
  // Takes the start image and starts tracing. Fails if anything required is unavailable, and then
  // leaves no file.
  [[nodiscard]] static Result<std::unique_ptr<Recorder>> start(const RecorderOptions& options);
  virtual ~Recorder() = default;

  [[nodiscard]] virtual const Volume& volume() const = 0;
  [[nodiscard]] virtual const capture::StartFacts& facts() const = 0;
  // Messages for the user: requested features that are unavailable here, and events in the life of
  // the file system. Each call may add some.
  [[nodiscard]] virtual const std::vector<std::string>& notes() const = 0;
  // Bytes read for the start image.
  [[nodiscard]] virtual std::uint64_t image_bytes() const = 0;

  // Takes over new events. Call it several times a second. An Error, such as a lost or full output,
  // ends the recording; the file so far stays readable.
  [[nodiscard]] virtual Result<SoFar> pump() = 0;
  // Ends the recording and removes the file, which holds nothing worth keeping.
  virtual void abandon() = 0;
  // Ends the recording and completes the file. EndFacts explains `reason` and `exit_status`.
  [[nodiscard]] virtual Result<capture::EndFacts> finish(
      const std::string& reason, std::optional<std::int64_t> exit_status) = 0;
};

}  // namespace e4r::record
