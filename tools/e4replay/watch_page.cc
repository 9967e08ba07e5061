// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/watch_page.h"

#include <array>
#include <boost/json.hpp>
#include <ctime>
#include <deque>
#include <utility>

#include "common/command.h"
#include "common/stop.h"
#include "json/text.h"
#include "util/file.h"
#include "watch/document.h"
#include "watch/names.h"
#include "watch/page.h"

namespace e4r::tools {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class WatchPage {
 public:
  WatchPage(watch::Watcher& watcher, std::unique_ptr<watch::Terminal> terminal,
            WatchMetrics& metrics, const watch::ShownFigures& figures)
      : watcher_(watcher), terminal_(std::move(terminal)), metrics_(metrics) {
    view_.figures = figures;
    view_.ascii = !terminal_->speaks_utf8();
  }

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

}  // namespace

Status run_watch_page(watch::Watcher& watcher, std::unique_ptr<watch::Terminal> terminal,
                      WatchMetrics& metrics, const watch::ShownFigures& figures,
                      const std::atomic<bool>& stop, milliseconds every, milliseconds most) {
  return WatchPage(watcher, std::move(terminal), metrics, figures).run(stop, every, most);
}

}  // namespace e4r::tools
