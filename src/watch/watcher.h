// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/volume.h"
#include "watch/incidents.h"
#include "watch/lazy_init.h"
#include "watch/pursuit.h"
#include "watch/stream.h"

namespace e4r::watch {

struct WatchOptions {
  StreamOptions stream;
  std::vector<const allocator::Policy*> shadows;
  std::chrono::milliseconds check_every{60'000};  // between comparisons with mb_groups; 0: no
                                                  // comparisons
  std::optional<IncidentOptions> incidents;       // captures of the last minutes
  std::string program;                            // name and version, for captures
};

// Why a watch takes a new start image.
enum class Anew : std::uint8_t { events_lost, groups_differ, changed, backlog_full, failed };
// The reasons' names in metrics. changed: mount options, tunables or the size changed.
inline constexpr std::array<std::pair<Anew, std::string_view>, 5> kAnew = {{
    {Anew::events_lost, "events_lost"},
    {Anew::groups_differ, "groups_differ"},
    {Anew::changed, "changed"},
    {Anew::backlog_full, "backlog_full"},
    {Anew::failed, "failed"},
}};

// The state of a watch at one moment.
struct Report {
  std::string time;         // this machine's time, UTC
  std::string device;       // "8:1"
  std::uint32_t dev = 0;    // the same, encoded as by trace::make_dev()
  std::string device_name;  // "sda1"
  std::string mount_point;
  std::string kernel;         // as in `uname -r`
  bool follows = false;       // there is a start image, and events are being followed from it
  bool is_over = false;       // the file system was unmounted
  unsigned starts = 0;        // start images so far
  unsigned attempts = 0;      // attempts to follow from the last start image
  double frozen_s = 0;        // how long writers waited for the last start image
  double frozen_total_s = 0;  // the same, for all start images
  std::array<std::uint64_t, kAnew.size()> anew = {};  // how often a new start image was taken, by
                                                      // Anew
  double behind_s = 0;                                // how far behind the kernel the figures are
  std::uint64_t events = 0;                           // since the last start image
  std::uint64_t lost = 0;                             // events that the kernel dropped, in total
  std::uint64_t backlog_bytes = 0;                    // size of the events in memory
  std::uint64_t shadows_dropped = 0;                  // in total
  std::shared_ptr<const Picture> picture;             // null before the first one
  // What a capture of the last minutes would contain. Empty if the options do not ask for captures.
  struct Keeps {
    FlightRecorder::Held held;
    std::uint64_t files = 0;  // captures written
    std::string last_file;
  };
  std::optional<Keeps> keeps;
  std::optional<LazyInitProgress> lazy_init;  // empty before the first start image
  std::vector<std::string> notes;             // what happened since the last report, as messages
                                              // for the user
};

// Watches one mounted file system. When the object is destroyed, nothing is left behind in the
// kernel.
class Watcher {
 public:
  // Takes the first start image. The Error says what could not be obtained.
  [[nodiscard]] static Result<std::unique_ptr<Watcher>> start(const WatchOptions& options);

  // Takes over new events and does all other periodic work. Call it twenty times a second. An Error
  // ends the watch.
  [[nodiscard]] Status pump();
  // Whether the file system was unmounted, so that no more events will come.
  [[nodiscard]] bool is_over() const { return over_; }
  // Requests a capture of the last minutes. `reason` says who or what requested it.
  void want_capture(const std::string& reason);
  // Waits up to a fifth of a second for new figures.
  [[nodiscard]] Report report();
  // Follows everything that has happened until now, then ends.
  [[nodiscard]] Report finish();

 private:
  using Steady = std::chrono::steady_clock;

  explicit Watcher(const WatchOptions& options) : options_(options) {}
  [[nodiscard]] Status begin();
  [[nodiscard]] Status take_start();
  void take_new_start(Anew reason, const std::string& why);
  void start_again();
  [[nodiscard]] Status look_around();
  void keep_up();
  void check_groups();
  void begin_check();
  void judge(const GroupsCheck& check);
  [[nodiscard]] std::uint64_t lag_ns() const;
  [[nodiscard]] Report describe();
  void look_for_incidents();
  // Null if the kernel can no longer be followed, or if the first attempt has not begun.
  [[nodiscard]] std::shared_ptr<Follower> follower() const;
  // The contents of a capture. Empty before the first checkpoint.
  [[nodiscard]] std::optional<FlightRecorder::Kept> kept() const;
  void write_capture(std::optional<FlightRecorder::Kept> kept);
  void end_follower();

  WatchOptions options_;
  std::unique_ptr<Stream> stream_;
  std::optional<record::VolumeWatch> volume_watch_;
  record::MountTable mounts_;
  std::vector<const allocator::Policy*> kernel_policies_;
  std::string release_;
  std::shared_ptr<const LiveStart> start_;
  std::unique_ptr<Pursuit> pursuit_;  // null from a failure until start_again() succeeds
  bool over_ = false;
  bool shed_ = false;  // the shadows were dropped since the last start image
  std::optional<Steady::time_point> behind_since_;
  unsigned starts_ = 0;
  double frozen_total_s_ = 0;
  std::array<std::uint64_t, kAnew.size()> anew_ = {};
  std::uint64_t shadows_dropped_ = 0;
  std::vector<std::string> notes_;
  std::optional<Incidents> incidents_;
  LazyInit lazy_init_;
  Steady::time_point figures_at_;     // next time to ask for figures for incidents
  std::size_t dropped_reported_ = 0;  // how many of the picture's dropped shadows were reported
  Steady::time_point looked_, retry_at_, check_at_;
  std::chrono::seconds pause_{1};  // before the next attempt to start again

  std::future<KernelGroups> reading_;   // a reading of mb_groups
  std::uint64_t judged_ns_ = 0;         // GroupsCheck::time_ns of the last check
  std::vector<std::uint32_t> doubted_;  // groups that differed in the last comparison
};

}  // namespace e4r::watch
