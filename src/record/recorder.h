// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "record/bpf_readers.h"
#include "record/freeze.h"
#include "record/merger.h"
#include "record/start.h"
#include "record/tracer.h"
#include "record/volume.h"
#include "trace/summary.h"
#include "util/status.h"

namespace e4r::record {

struct RecorderOptions {
  std::string target;
  std::string output;
  Snapshot snapshot = Snapshot::automatic;
  TraceClock clock = TraceClock::mono;
  std::size_t buffer_kb = 4096;
  std::chrono::milliseconds max_freeze{2000};
  // Also record file sizes and open writers (InputReader), and the order in which allocations and
  // commits took effect (Probes), as far as the kernel allows.
  bool full = false;
  bool settle = false;  // first drop inodes from the cache, and with them their preallocations
  std::string command;  // the command that will run, as a fact of the capture
  std::string program;  // name and version of the recording program
};

// The progress of a recording.
struct SoFar {
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::uint64_t file_bytes = 0;
  std::size_t buffer_kb = 0;  // for one CPU
};

// Records one file system into an .e4c file. On destruction, the machine returns to its earlier
// state: the tracing instance is removed, the file system is thawed, and mb_stats is restored.
class Recorder {
 public:
  // Takes the start image and starts tracing. Fails and leaves no file if anything required is
  // unavailable.
  [[nodiscard]] static Result<std::unique_ptr<Recorder>> start(const RecorderOptions& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  [[nodiscard]] const Volume& volume() const { return volume_; }
  [[nodiscard]] const capture::StartFacts& facts() const { return facts_; }
  // Messages for the user: requested features that are unavailable here, and changes to the file
  // system such as an unmount. The list can grow while the recording runs.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // Bytes read for the start image.
  [[nodiscard]] std::uint64_t image_bytes() const { return image_bytes_; }

  // Takes over new events. Call it several times a second. An Error, such as a lost or full output,
  // ends the recording; what has been written stays readable.
  [[nodiscard]] Result<SoFar> pump();
  // Ends the recording and removes the file, because it holds nothing worth keeping.
  void abandon();
  // Ends the recording and completes the file. For `reason` and `exit_status` see EndFacts.
  [[nodiscard]] Result<capture::EndFacts> finish(const std::string& reason,
                                                 std::optional<std::int64_t> exit_status);

 private:
  using Steady = std::chrono::steady_clock;

  explicit Recorder(const RecorderOptions& options);
  Status begin();
  Status prepare_tracing();
  void look_around();
  void see_inputs();
  [[nodiscard]] Status settle() const;
  Status write_start(const Start& start);
  [[nodiscard]] capture::StartFacts describe(const Start& start) const;
  Result<KernelFiles> stop(capture::EndFacts& facts);
  void note_unfrozen_end(const Error& why);
  Result<std::optional<Freeze>> freeze_while_reading(const std::string& mount_point);
  Status take_events(bool all);

  RecorderOptions options_;
  Volume volume_;
  Snapshot snapshot_ = Snapshot::automatic;
  std::unique_ptr<capture::CaptureWriter> writer_;
  std::unique_ptr<Tracer> tracer_;
  std::unique_ptr<InputReader> inputs_;  // null if inputs are not recorded
  InputJoin join_;
  OutputWatch output_;
  std::optional<VolumeWatch> watch_;
  std::vector<std::string> changes_;
  capture::StartFacts facts_;
  trace::TraceSummary summary_;
  std::vector<std::string> notes_;
  std::uint64_t image_bytes_ = 0;
  Steady::time_point began_, last_flush_;
  bool started_ = false;
};

}  // namespace e4r::record
