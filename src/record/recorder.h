// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/facts.h"
#include "record/tracer.h"
#include "record/volume.h"
#include "util/status.h"

namespace e4r::record {

// Where the start image comes from.
enum class Snapshot : std::uint8_t {
  automatic,  // freeze when mounted, else unmounted
  freeze,     // the mounted file system, frozen for as long as it takes to read its bitmaps
  reflink,    // a reflinked copy of the loop device's file, made while frozen
  unmounted,  // the device, not mounted yet
  none,       // nowhere: a replay needs an image from elsewhere
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
  bool full = false;    // with file sizes and open writers, which no event carries (InputReader)
  bool settle = false;  // drop the inodes from the cache first, and with them preallocations
  std::string command;  // that will be run; for the capture's facts
  std::string program;  // that records: name and version
};

// How far a recording is.
struct SoFar {
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::uint64_t file_bytes = 0;
  std::size_t buffer_kb = 0;  // of each CPU
};

// Records one file system into an .e4c file. Whatever becomes of the object, the machine is as it
// was before: tracing instance removed, file system thawed, mb_stats as it was.
class Recorder {
 public:
  // Takes the start image and begins to trace. The Error of anything that cannot be had; there is
  // no file then.
  [[nodiscard]] static Result<std::unique_ptr<Recorder>> start(const RecorderOptions& options);
  virtual ~Recorder() = default;

  [[nodiscard]] virtual const Volume& volume() const = 0;
  [[nodiscard]] virtual const capture::StartFacts& facts() const = 0;
  // Lines for a person: what was asked for and cannot be had here, and what happened to the file
  // system. There may be more of them after each call.
  [[nodiscard]] virtual const std::vector<std::string>& notes() const = 0;
  // Bytes of the start image that were read.
  [[nodiscard]] virtual std::uint64_t image_bytes() const = 0;

  // Takes over what has happened; to be called several times a second. An Error ends the
  // recording, such as that of an output that is gone or full; what there is of the file stays,
  // readable as far as it goes.
  [[nodiscard]] virtual Result<SoFar> pump() = 0;
  // Ends the recording and removes the file: there is nothing in it to keep.
  virtual void abandon() = 0;
  // Ends the recording and the file. `reason` and `exit_status` as in EndFacts.
  [[nodiscard]] virtual Result<capture::EndFacts> finish(
      const std::string& reason, std::optional<std::int64_t> exit_status) = 0;
};

}  // namespace e4r::record
