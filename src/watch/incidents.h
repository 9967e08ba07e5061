// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "util/condition.h"
#include "watch/flight.h"
#include "watch/follower.h"

namespace e4r::watch {

// A condition on the figures of a watch (util/condition.h), and how long it must hold:
// "groups_per_request > 500 for 5s". A figure is named by its key in --json, and means the recorded
// kernel's value in the last second. The prefix "minute:" selects the last minute, and "POLICY:"
// selects a shadow.
class When {
 public:
  // The Error says what is wrong with `text`.
  [[nodiscard]] static Result<When> parse(const std::string& text,
                                          std::span<const allocator::Policy* const> shadows);

  // Whether the condition has become true: it has now held for the required time, and in the last
  // picture it had not.
  [[nodiscard]] bool becomes_true(const Picture& picture);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Figure {
    std::string name;
    std::string column;
    Window window = Window::second;
    std::size_t row = 0;  // index of the row among a watch's rows
  };
  [[nodiscard]] bool holds(const Picture& picture) const;

  std::string text_;
  std::vector<Figure> figures_;
  Condition condition_;
  std::uint64_t for_ns_ = 0;
  std::optional<std::uint64_t> since_ns_;  // when the condition began to hold
  bool was_true_ = false;
};

struct IncidentOptions {
  std::string output;  // name of the first capture; empty if none are written
  FlightRecorder::Limits keep;
  std::optional<When> when;
  std::chrono::milliseconds after{5'000};       // how long a capture continues after it was asked
                                                // for
  std::chrono::milliseconds cooldown{300'000};  // the least time between two captures that a
                                                // condition asks for
  std::uint64_t most_files = 10;
  std::uint64_t most_bytes = std::uint64_t{1} << 30;  // total size of all captures
};

// Decides when captures of the last minutes are written, and names them: NAME.e4c, NAME-2.e4c, ...
// No existing file is replaced. Each capture is written on a thread of its own. The functions
// report what happens in `notes`, one line each.
class Incidents {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Incidents(IncidentOptions options) : options_(std::move(options)) {}

  [[nodiscard]] bool writes() const { return !options_.output.empty(); }
  [[nodiscard]] const IncidentOptions& options() const { return options_; }
  // Asks for a capture, on behalf of the user or of a condition.
  void ask(const std::string& reason, bool by_condition, Time now, std::vector<std::string>& notes);
  // Checks whether the condition has become true.
  void look(const Picture& picture, Time now, std::vector<std::string>& notes);
  // is_wanted(): a capture was requested. is_due(): it can be written now.
  [[nodiscard]] bool is_wanted() const { return wanted_at_.has_value(); }
  [[nodiscard]] bool is_due(Time now) const {
    return wanted_at_ && now >= *wanted_at_ && !writing_.valid();
  }
  // Writes the requested capture. `kept` is empty if there is no checkpoint yet. `owner` keeps
  // alive what `notes` refers to.
  void write(std::optional<FlightRecorder::Kept> kept, FlightNotes notes,
             std::shared_ptr<const void> owner, std::vector<std::string>& messages);
  // Reports what has been written. With `wait`, waits for the writing thread first.
  void collect(bool wait, std::vector<std::string>& notes);

  [[nodiscard]] std::uint64_t files() const { return files_; }
  [[nodiscard]] const std::string& last_file() const { return last_file_; }

 private:
  [[nodiscard]] std::string next_name() const;

  IncidentOptions options_;
  std::optional<Time> wanted_at_;
  std::optional<Time> last_asked_;
  std::string reason_;
  std::uint64_t files_ = 0, bytes_ = 0;
  std::string last_file_;
  std::string writing_name_;
  std::future<Status> writing_;
};

}  // namespace e4r::watch
