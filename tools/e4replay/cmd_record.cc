// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "common/child.h"
#include "common/command.h"
#include "common/print_line.h"
#include "common/run.h"
#include "record/recorder.h"
#include "record/tracer.h"
#include "util/progress.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_record {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  record::RecorderOptions recorder;
  std::string snapshot = "auto";
  std::string clock = "mono";
  std::string buffer = "8M";
  std::string max_freeze = "2s";
  std::optional<std::string> duration;
  std::string events = "minimal";
  std::vector<std::string> command;
  bool clean = false;
  bool no_progress = false;
  std::chrono::milliseconds most{0};  // 0: unlimited
};

// Checks the command line and fills options.recorder.
Status parse(Options& o) {
  E4R_TRY(o.recorder.snapshot, record::parse_snapshot(o.snapshot));
  E4R_TRY(o.recorder.clock, record::parse_clock(o.clock));
  E4R_TRY(o.recorder.max_freeze, parse_duration(o.max_freeze));
  E4R_TRY(const std::uint64_t buffer, parse_size(o.buffer));
  constexpr std::uint64_t kLeast = 64 << 10, kMost = std::uint64_t{4} << 30;
  if (buffer < kLeast || buffer > kMost) return error("--buffer {}: give 64K to 4G", o.buffer);
  o.recorder.buffer_kb = buffer >> 10;
  constexpr std::chrono::hours kMostFreeze{1};
  if (o.recorder.max_freeze.count() == 0 || o.recorder.max_freeze > kMostFreeze)
    return error("--max-freeze {}: give 1ms to 1h", o.max_freeze);
  if (o.duration && !o.command.empty())
    return error("--for and a command: give one of them, which ends the recording");
  if (o.duration) {
    E4R_TRY(o.most, parse_duration(*o.duration));
    if (o.most.count() == 0) return error("--for {}: no time to record", *o.duration);
  }
  o.recorder.full = o.events == "full";
  if (!o.recorder.full && o.events != "minimal")
    return error("--events {}: give minimal or full", o.events);
  if (o.recorder.target.empty()) return error("there is nothing to record: give a mount point");
  for (const std::string& word : o.command)
    o.recorder.command += (o.recorder.command.empty() ? "" : " ") + word;
  return {};
}

Result<int> clean() {
  E4R_TRY(const auto done, record::clean_up_stale());
  for (const std::string& line : done) print_line("{}", line);
  if (done.empty()) print_line("nothing was left behind");
  return kDone;
}

// Detects the end of the recording: the command ends, the time is up, or a signal comes.
class Ending {
 public:
  Ending(const Options& options, const std::atomic<bool>& stop)
      : stop_(stop), began_(Clock::now()), most_(options.most) {}

  // Starts the command, unless the program has already been asked to stop.
  Status start(const std::vector<std::string>& command) {
    if (command.empty() || stop_) return {};
    E4R_TRY(child_, Child::start(command));
    return {};
  }

  // Waits for `moment`. Returns whether the recording is over.
  bool wait(std::chrono::milliseconds moment) {
    if (child_)
      status_ = child_->wait(moment);
    else
      std::this_thread::sleep_for(moment);
    if (status_) {
      reason_ = stop_ ? "interrupted" : "the command ended";
      return true;
    }
    if (stop_) return interrupt("interrupted", SIGTERM);
    if (most_.count() != 0 && Clock::now() - began_ >= most_)
      return interrupt("the time was up", 0);
    return false;
  }

  // Waits for the command to end, without interrupting it. Used when the recording has failed.
  void let_the_command_end() {
    while (child_ && !status_) status_ = child_->wait(std::chrono::seconds(1));
  }

  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] std::optional<std::int64_t> status() const {
    return status_ ? std::optional<std::int64_t>(*status_) : std::nullopt;
  }

 private:
  // Asks the command to end and waits for it. Returns whether the recording is over.
  bool interrupt(const char* reason, int signal) {
    constexpr std::chrono::seconds kPatience{10};
    reason_ = reason;
    if (!child_ || signal == 0) return true;
    if (!asked_) {
      child_->send(signal);
      asked_ = Clock::now();
    }
    return Clock::now() - *asked_ >= kPatience;
  }

  const std::atomic<bool>& stop_;
  Clock::time_point began_;
  std::chrono::milliseconds most_;
  std::optional<Child> child_;
  std::optional<int> status_;
  std::optional<Clock::time_point> asked_;
  std::string reason_;
};

std::string status_line(const record::SoFar& now, double seconds, double rate) {
  return fmt::format("{:.0f} s: {} events, {}/s, {} lost, {}, buffers of {} KiB", seconds,
                     format_count(now.events), format_count(static_cast<std::uint64_t>(rate)),
                     format_count(now.lost), format_size(now.file_bytes), now.buffer_kb);
}

// Prints each note of a recorder once.
class Notes {
 public:
  void tell(const record::Recorder& recorder, Progress* progress = nullptr) {
    if (progress != nullptr && notes_shown_ < recorder.notes().size()) progress->wipe();
    for (; notes_shown_ < recorder.notes().size(); ++notes_shown_)
      warn(recorder.notes()[notes_shown_]);
  }

 private:
  std::size_t notes_shown_ = 0;
};

// Records until the end.
Status follow(record::Recorder& recorder, Ending& ending, Progress& progress, Notes& notes) {
  constexpr std::chrono::milliseconds kTick{50};
  const Clock::time_point began = Clock::now();
  Clock::time_point reported_at = began;
  std::uint64_t events_reported = 0;
  while (!ending.wait(kTick)) {
    E4R_TRY(const record::SoFar now, recorder.pump());
    notes.tell(recorder, &progress);
    const std::chrono::duration<double> since = Clock::now() - reported_at;
    if (since.count() < 0.5) continue;
    const std::chrono::duration<double> all = Clock::now() - began;
    progress.show(status_line(now, all.count(),
                              static_cast<double>(now.events - events_reported) / since.count()));
    reported_at = Clock::now();
    events_reported = now.events;
  }
  progress.wipe();
  return {};
}

void tell_end(const record::Recorder& recorder, const Options& options,
              const capture::EndFacts& end) {
  const double frozen = recorder.facts().frozen_s;
  const std::string at_end = end.frozen_s > 0 ? fmt::format(" and {:.3f} s", end.frozen_s) : "";
  print_line(stderr, "{}: {} events in {:.1f} s, {}; start image {} ({}{})",
             options.recorder.output, format_count(end.events), end.elapsed_s, end.reason,
             format_size(recorder.image_bytes()), recorder.facts().snapshot,
             frozen > 0 ? fmt::format(", writers waited {:.3f} s{}", frozen, at_end) : "");
  std::string cpus;
  for (const capture::Losses& l : end.lost)
    cpus += fmt::format("{}CPU {}: {}", cpus.empty() ? "" : ", ", l.cpu, format_count(l.events));
  if (const std::uint64_t lost = capture::all_lost(end.lost); lost > 0)
    warn(
        fmt::format("{} events were lost ({}): a replay is not exact after the first of them; "
                    "record again with a larger --buffer",
                    format_count(lost), cpus));
}

// Checks the command before any work is done.
Status check_command(const std::vector<std::string>& command) {
  if (command.empty()) return {};
  const std::string& program = command.front();
  if (program.find('/') == std::string::npos && !find_program(program).empty()) return {};
  if (program.find('/') == std::string::npos)
    return error("cannot run {}: there is no such program in PATH", program);
  struct stat st = {};
  if (::stat(program.c_str(), &st) != 0)
    return error("cannot run {}: {}", program, errno_text(errno));
  if (S_ISDIR(st.st_mode)) return error("cannot run {}: is a directory", program);
  return ::access(program.c_str(), X_OK) == 0
             ? Status()
             : error("cannot run {}: is not executable (chmod +x)", program);
}

Result<int> run(const Options& options) {
  if (options.clean) return clean();
  E4R_CHECK(check_command(options.command));
  const std::atomic<bool>& stop = stop_on_signals(SecondSignal::nothing);
  tell_broken_pipes();
  E4R_TRY(auto recorder, record::Recorder::start(options.recorder));
  Notes notes;
  notes.tell(*recorder);
  Progress progress(!options.no_progress);
  Ending ending(options, stop);
  if (Status failed = ending.start(options.command); !failed.ok()) {
    recorder->abandon();
    return std::move(failed).error();
  }
  // Raises only this process's priority, not the command's: the reader of the buffers must not wait
  // for the processes that fill them.
  ::setpriority(PRIO_PROCESS, 0, -10);
  if (Status failed = follow(*recorder, ending, progress, notes); !failed.ok()) {
    progress.wipe();
    recorder.reset();
    ending.let_the_command_end();
    return std::move(failed).error();
  }
  E4R_TRY(const capture::EndFacts end, recorder->finish(ending.reason(), ending.status()));
  tell_end(*recorder, options, end);
  notes.tell(*recorder);
  return end.exit_status ? static_cast<int>(*end.exit_status) : kDone;
}

std::string default_output() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 64> text = {};
  std::strftime(text.data(), text.size(), "e4replay-%Y%m%d-%H%M%S.e4c", std::localtime(&now));
  return text.data();
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  record::RecorderOptions& r = options->recorder;
  r.program = fmt::format("e4replay {}", E4R_VERSION);
  app.add_option("target", r.target,
                 "mount point of an ext4 file system, a file in it, or its block device")
      .type_name("TARGET");
  app.add_option("command", options->command, "record while this command runs (after --)")
      .type_name("CMD...");
  app.add_option("-o,--output", r.output, "the file to write (e4replay-DATE-TIME.e4c)")
      .type_name("FILE.e4c");
  app.add_option("--for", options->duration, "end after this time: 90s, 10m, 1h30m")
      .type_name("TIME");
  app.add_option("--snapshot", options->snapshot,
                 "how to take the start image: auto, freeze, reflink, unmounted or none")
      .type_name("HOW");
  app.add_option("--max-freeze", options->max_freeze,
                 "let writers wait no longer than this while the start image is read (2s)")
      .type_name("TIME");
  app.add_flag("--settle", r.settle,
               "first drop unused inodes from the cache, and with them most preallocations");
  app.add_option("--clock", options->clock, "clock of the trace: mono, mono_raw or boot")
      .type_name("CLOCK");
  app.add_option("--buffer", options->buffer,
                 "trace buffer of each CPU to begin with (8M); it grows when events are lost")
      .type_name("SIZE");
  app.add_option("--events", options->events,
                 "what to record: minimal; or full, which adds file sizes and open writers (BPF) "
                 "and the order of effect (kprobes)")
      .type_name("SET");
  app.add_flag("--clean", options->clean, "undo what a killed recorder left behind, and end");
  app.add_flag("--no-progress", options->no_progress, "no status line on the terminal");
  return [options]() -> Result<int> {
    if (!options->clean) {
      if (const Status status = parse(*options); !status.ok())
        return usage_error(status.error().message);
      if (options->recorder.output.empty()) options->recorder.output = default_output();
    }
    return run(*options);
  };
}

}  // namespace
}  // namespace cmd_record

const Command& record_command() {
  static const Command kCommand = {
      "record", "record a mounted ext4 file system into one file for replays (root)",
      "  e4replay record /data -o run.e4c -- fio job.fio     while a command runs\n"
      "  e4replay record /data --for 10m                     for a time, or until Ctrl-C\n"
      "  e4replay record /dev/vdb -- ./mount-and-test.sh     from before it is mounted\n"
      "  e4replay replay run.e4c -p legacy,cr1.5             what would other policies have done?\n"
      "Exit status: the command's, else 0; 1 when nothing could be recorded.\n",
      cmd_record::declare};
  return kCommand;
}

}  // namespace e4r::tools
