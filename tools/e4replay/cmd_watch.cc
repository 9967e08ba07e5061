// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "app/setups.h"
#include "common/command.h"
#include "common/print_line.h"
#include "common/run.h"
#include "json/text.h"
#include "util/file.h"
#include "util/units.h"
#include "watch/document.h"
#include "watch/metrics.h"
#include "watch/metrics_output.h"
#include "watch/names.h"
#include "watch/page.h"
#include "watch/watcher.h"

namespace e4r::tools {
namespace cmd_watch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Options {
  watch::WatchOptions watch;
  std::string check = "1m";
  std::string interval = "1s";
  std::string duration;
  std::string max_freeze = "2s";
  std::string buffer = "8M";
  std::string keep;
  std::string output;
  std::string when;
  std::string after = "5s";
  std::string cooldown = "5m";
  std::string max_bytes = "1G";
  std::uint64_t max_files = 10;
  std::string metrics;
  std::string listen;
  std::string columns;
  bool once = false;
  bool json = false;
  bool lines = false;
  milliseconds every{0};
  milliseconds most{0};  // 0: unlimited
  std::optional<watch::ListenAddress> address;
  watch::ShownFigures figures = {};
};

// Parses a time or a size.
Status parse_keep(const std::string& text, watch::FlightRecorder::Limits& out) {
  constexpr std::uint64_t kDefault = std::uint64_t{256} << 20, kLeast = std::uint64_t{1} << 20;
  out = {0, kDefault};
  if (const auto time = parse_duration(text); time.ok()) {
    out.time_ns = static_cast<std::uint64_t>(time->count()) * 1'000'000;
    return time->count() >= 1000 ? Status() : error("--keep {}: give 1s or more", text);
  }
  const auto size = parse_size(text);
  if (!size.ok())
    return error("--keep {}: is neither a time such as 10m nor a size such as 200M", text);
  out.bytes = *size;
  return out.bytes >= kLeast ? Status() : error("--keep {}: give 1M or more", text);
}

Status parse_incidents(Options& o) {
  if (o.keep.empty() && o.output.empty() && o.when.empty()) return {};
  if (o.keep.empty()) return error("-o and --when need --keep: how much to keep");
  if (o.output.empty()) return error("--keep needs -o: where to write it");
  watch::IncidentOptions& out = o.watch.incidents.emplace();
  E4R_CHECK(parse_keep(o.keep, out.keep));
  out.output = o.output;
  if (!o.when.empty()) {
    auto when = watch::When::parse(o.when, o.watch.shadows);
    if (!when.ok()) return error("--when '{}': {}", o.when, when.error().message);
    out.when = *std::move(when);
  }
  E4R_TRY(out.after, parse_duration(o.after));
  E4R_TRY(out.cooldown, parse_duration(o.cooldown));
  E4R_TRY(out.most_bytes, parse_size(o.max_bytes));
  out.most_files = o.max_files;
  return {};
}

// Checks the command line, and converts its strings to the values of the other options.
Status parse(Options& o) {
  E4R_TRY(o.watch.check_every, parse_duration(o.check));
  if (o.watch.check_every.count() != 0 && o.watch.check_every < std::chrono::seconds(1))
    return error("--check {}: give 1s or more, or 0 for no comparison", o.check);
  E4R_TRY(o.every, parse_duration(o.interval));
  if (o.every < milliseconds(100)) return error("--interval {}: give 100ms or more", o.interval);
  if (!o.duration.empty()) {
    E4R_TRY(o.most, parse_duration(o.duration));
    if (o.most.count() == 0) return error("--for {}: no time to watch", o.duration);
    if (o.once) return error("--for and --once: give one of them");
  }
  E4R_TRY(o.watch.stream.max_freeze, parse_duration(o.max_freeze));
  if (o.watch.stream.max_freeze.count() == 0 || o.watch.stream.max_freeze > std::chrono::hours(1))
    return error("--max-freeze {}: give 1ms to 1h", o.max_freeze);
  E4R_TRY(const std::uint64_t buffer, parse_size(o.buffer));
  constexpr std::uint64_t kLeast = 64 << 10, kMost = std::uint64_t{256} << 20;
  if (buffer < kLeast || buffer > kMost) return error("--buffer {}: give 64K to 256M", o.buffer);
  o.watch.stream.buffer_kb = buffer >> 10;
  if (!o.listen.empty()) {
    auto address = watch::parse_listen(o.listen);
    if (!address.ok()) return error("--listen {}", address.error().message);
    o.address = *std::move(address);
  }
  if (!o.columns.empty()) {
    if (o.json) return error("--columns and --json: a document always has every figure");
    auto figures = watch::ShownFigures::parse(o.columns);
    if (!figures.ok()) return error("--columns: {}", figures.error().message);
    o.figures = *std::move(figures);
  }
  o.watch.program = "e4replay " E4R_VERSION ", watching";
  return parse_incidents(o);
}

// Prints reports one after another.
class Screen {
 public:
  Screen(bool json, const watch::ShownFigures& figures) : json_(json), lines_(figures) {}

  // Flushes, because standard output may be a pipe whose reader reads line by line.
  Status show(const watch::Report& report) {
    if (json_) {
      names_.look_up(report);
      print_text(json_line(watch::report_json(report, &names_)) + "\n");
    } else {
      for (const std::string& note : report.notes) warn(note);
      if (!std::exchange(headed_, true)) print_report(lines_.head(report));
      print_report(lines_.lines(report));
    }
    note_write(std::fflush(stdout) == 0, stdout);
    return write_error() == 0 ? Status() : error("standard output: {}", errno_text(write_error()));
  }

 private:
  bool json_;
  bool headed_ = false;
  watch::ReportLines lines_;
  watch::LiveNames names_;
};

// The destinations of a watch's metrics: a file, a port, both, or none.
class WatchMetrics {
 public:
  // If `file` is empty, no file is written. The Error says whether the file or the port could not
  // be opened.
  [[nodiscard]] static Result<std::unique_ptr<WatchMetrics>> open(
      const std::string& file, const std::optional<watch::ListenAddress>& listen);

  // Publishes the report's figures. Adds new problems to the report's notes.
  void take(watch::Report& report);
  // Publishes the last report, which says that the file system is no longer followed.
  void end(watch::Report& report);

 private:
  void show(const watch::Report& report);

  watch::Metrics metrics_{E4R_VERSION};
  std::unique_ptr<watch::MetricsFile> file_;
  std::unique_ptr<watch::MetricsServer> server_;
};

Result<std::unique_ptr<WatchMetrics>> WatchMetrics::open(
    const std::string& file, const std::optional<watch::ListenAddress>& listen) {
  auto out = std::make_unique<WatchMetrics>();
  if (!file.empty()) {
    E4R_TRY(out->file_, watch::MetricsFile::open(file));
  }
  if (listen) {
    E4R_TRY(out->server_, watch::MetricsServer::open(*listen));
  }
  return out;
}

void WatchMetrics::take(watch::Report& report) {
  show(report);
  if (file_ == nullptr) return;
  if (const auto failure = file_->take_error()) report.notes.push_back("metrics: " + *failure);
}

void WatchMetrics::end(watch::Report& report) {
  watch::Report last = report;
  last.is_over = true;
  show(last);
}

void WatchMetrics::show(const watch::Report& report) {
  if (file_ == nullptr && server_ == nullptr) return;
  metrics_.add(report);
  const std::vector<watch::MetricFamily> families = metrics_.families();
  std::string text = exposition(families, watch::Exposition::prometheus);
  if (server_ != nullptr)
    server_->show({text, exposition(families, watch::Exposition::openmetrics)});
  if (file_ != nullptr) file_->write(std::move(text));
}

// The full-screen page. It runs until the user quits, `stop` is set, the file system is unmounted,
// or the time is up. Afterwards, prints the page's notes again, as warnings.
class WatchPage {
 public:
  WatchPage(watch::Watcher& watcher, std::unique_ptr<watch::Terminal> terminal,
            WatchMetrics& metrics, const watch::ShownFigures& figures)
      : watcher_(watcher), terminal_(std::move(terminal)), metrics_(metrics) {
    view_.figures = figures;
    view_.ascii = !terminal_->speaks_utf8();
  }

  // If `most` is 0, the time is unlimited.
  Status run(const std::atomic<bool>& stop, milliseconds every, milliseconds most) {
    constexpr milliseconds kTick{50};
    const Clock::time_point began = Clock::now();
    Clock::time_point next = began;
    std::atomic<bool>& capture = wanted_by_signal();
    while (!stop && !ends_ && !watcher_.is_over()) {
      if (capture.exchange(false)) watcher_.want_capture("SIGUSR1");
      if (const int key = terminal_->key(kTick); key != 0) {
        on_key(key);
        draw();
      }
      E4R_CHECK(watcher_.pump());
      const Clock::time_point now = Clock::now();
      if (most.count() != 0 && now - began >= most) break;
      if (now < next) continue;
      next = std::max(next + every, now);
      take(watcher_.report());
      draw();
    }
    watch::Report last = watcher_.finish();
    metrics_.end(last);
    keep_notes(last);
    terminal_.reset();
    for (const std::string& note : notes_) warn(note);
    return {};
  }

 private:
  void take(watch::Report report) {
    metrics_.take(report);
    keep_notes(report);
    if (view_.frozen) return;
    report_ = std::move(report);
    names_.set_place(report_);
  }

  void keep_notes(const watch::Report& report) {
    constexpr std::size_t kMost = 100;
    for (const std::string& note : report.notes) {
      notes_.push_back(fmt::format("{}: {}", report.time, note));
      if (notes_.size() > kMost) notes_.pop_front();
      view_.message = notes_.back();
    }
  }

  void on_key(int key) {
    if (view_.choosing && !view_.help) return watch::on_list_key(view_, key);
    switch (key) {
      case 'q':
        ends_ = true;
        break;
      case '?':
      case 'h':
        view_.help = !view_.help;
        break;
      case 'o':
        view_.choosing = true;
        view_.help = false;
        break;
      case 's':
        view_.sort = watch::next(view_.sort);
        break;
      case 'f':
        view_.frozen = !view_.frozen;
        break;
      case 'c':
        watcher_.want_capture("key c");
        break;
      case 'w':
        save();
        break;
      default:  // another key, or a resize
        break;
    }
  }

  void save() {
    const std::time_t now = std::time(nullptr);
    std::array<char, 64> name = {};
    std::strftime(name.data(), name.size(), "e4replay-watch-%Y%m%d-%H%M%S.json",
                  std::localtime(&now));
    names_.look_up(report_);
    const Status status =
        write_output(json_text(watch::report_json(report_, &names_)), name.data());
    view_.message = status.ok() ? fmt::format("wrote {}", name.data()) : status.error().message;
  }

  void draw() {
    view_.columns = terminal_->columns();
    view_.rows = terminal_->rows();
    terminal_->show(watch::page_lines(report_, view_, names_));
  }

  watch::Watcher& watcher_;
  std::unique_ptr<watch::Terminal> terminal_;
  WatchMetrics& metrics_;
  watch::PageView view_;
  watch::Report report_;
  watch::LiveNames names_;
  std::deque<std::string> notes_;
  bool ends_ = false;
};

bool has_figures(const watch::Report& report) {
  return report.picture && !report.picture->columns.empty() &&
         report.picture->columns.front().of(watch::Window::start);
}

// Opens the full-screen page if a user can see it. Returns null if lines are to be printed.
std::unique_ptr<watch::Terminal> open_page(const Options& options) {
  if (options.json || options.lines || options.once) return nullptr;
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return nullptr;
  auto page = watch::Terminal::open();
  if (page.ok()) return *std::move(page);
  warn(page.error().message + ": showing lines instead of a page");
  return nullptr;
}

Result<int> run(const Options& options) {
  constexpr milliseconds kTick{50};
  const std::atomic<bool>& stop = stop_on_signals(SecondSignal::nothing);
  std::atomic<bool>& capture = wanted_by_signal();
  tell_broken_pipes();
  E4R_TRY(const auto metrics, WatchMetrics::open(options.metrics, options.address));
  E4R_TRY(const auto watcher, watch::Watcher::start(options.watch));
  // Raises the priority, because the reader of the buffers must not wait for the processes that
  // fill them.
  ::setpriority(PRIO_PROCESS, 0, -10);
  if (auto page = open_page(options)) {
    E4R_CHECK(WatchPage(*watcher, std::move(page), *metrics, options.figures)
                  .run(stop, options.every, options.most));
    return kDone;
  }
  Screen screen(options.json, options.figures);
  const Clock::time_point began = Clock::now();
  Clock::time_point next = began + options.every;
  while (!stop && !watcher->is_over()) {
    std::this_thread::sleep_for(kTick);
    if (capture.exchange(false)) watcher->want_capture("SIGUSR1");
    E4R_CHECK(watcher->pump());
    const Clock::time_point now = Clock::now();
    if (options.most.count() != 0 && now - began >= options.most) break;
    if (now < next) continue;
    next = std::max(next + options.every, now);
    watch::Report report = watcher->report();
    metrics->take(report);
    if (options.once && !has_figures(report)) continue;
    E4R_CHECK(screen.show(report));
    if (options.once) return kDone;
  }
  watch::Report last = watcher->finish();
  metrics->end(last);
  E4R_CHECK(screen.show(last));
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  app.add_option("target", options->watch.stream.target,
                 "mount point of an ext4 file system, a file in it, or its device")
      .required()
      .type_name("MOUNT");
  app.add_option("-p,--policy", options->watch.shadows, app::parse_policies,
                 "allocators that decide the same requests as the kernel, comma-separated")
      .type_name("POLICY[,POLICY...]");
  app.add_flag("--once", options->once, "report once, after one interval, and exit");
  app.add_flag("--json", options->json, "print one JSON document per line");
  app.add_flag("--lines", options->lines, "print a line for each allocator, even on a terminal");
  app.add_option("--columns", options->columns,
                 "figures that the page and the lines show, comma-separated")
      .type_name("KEY[,KEY...]");
  app.add_option("--interval", options->interval, "time between two reports (1s)")
      .type_name("TIME");
  app.add_option("--for", options->duration, "end after this time: 90s, 10m, 1h30m")
      .type_name("TIME");
  app.add_option("--check", options->check,
                 "compare groups with the kernel's mb_groups this often (1m); 0: never")
      .type_name("TIME");
  app.add_option("--max-freeze", options->max_freeze,
                 "let writers wait no longer than this while a start image is read (2s)")
      .type_name("TIME");
  app.add_option("--buffer", options->buffer,
                 "trace buffer of each CPU to begin with (8M); it grows when events are lost")
      .type_name("SIZE");
  app.add_option("--keep", options->keep,
                 "keep the last minutes for captures: this long (10m), or this much memory (200M)")
      .type_name("TIME|SIZE");
  app.add_option("-o,--output", options->output,
                 "capture to write on SIGUSR1, the key c, or --when; the next is FILE-2.e4c, ...")
      .type_name("FILE.e4c");
  app.add_option("--when", options->when,
                 "write one when this becomes true: 'groups_per_request > 500 for 5s'")
      .type_name("EXPR");
  app.add_option("--after", options->after, "how long a capture continues (5s)").type_name("TIME");
  app.add_option("--cooldown", options->cooldown, "least time between two captures of --when (5m)")
      .type_name("TIME");
  app.add_option("--max-files", options->max_files, "write no more captures than this (10)")
      .type_name("N");
  app.add_option("--max-bytes", options->max_bytes,
                 "write no more once the captures' total size is this (1G)")
      .type_name("SIZE");
  app.add_option("--metrics", options->metrics,
                 "write metrics for Prometheus here at each report; node_exporter reads FILE.prom")
      .type_name("FILE.prom");
  app.add_option("--listen", options->listen, "serve them at http://ADDRESS:PORT/metrics")
      .type_name("ADDRESS:PORT");
  return [options]() -> Result<int> {
    if (const Status status = parse(*options); !status.ok())
      return usage_error(status.error().message);
    return run(*options);
  };
}

}  // namespace
}  // namespace cmd_watch

const Command& watch_command() {
  static const Command kCommand = {
      "watch", "follow the allocator of a mounted file system while it works (root)",
      "  e4replay watch /data                          a live page; in a pipe, lines\n"
      "  e4replay watch /data -p linux-6.12,linux-6.1  and what others would have done\n"
      "  e4replay watch /data --json --interval 10s    one JSON document per line\n"
      "  e4replay watch /data --keep 10m -o bad.e4c --when 'groups_per_request > 500 for 5s'\n"
      "                                                capture the minutes around trouble\n"
      "  e4replay watch /data --listen 127.0.0.1:9435  metrics for Prometheus\n"
      "Exit status: 0 after a signal, --for, --once or an unmount; 1 if the file system cannot be "
      "followed.\n",
      cmd_watch::declare};
  return kCommand;
}

}  // namespace e4r::tools
