// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "watch/flight.h"
#include "watch/when.h"

namespace e4r::watch {

struct IncidentOptions {
  std::string output;  // of the first capture; empty: none is written
  FlightRecorder::Limits keep;
  std::optional<When> when;
  std::chrono::milliseconds after{5'000};       // a capture goes on for so long
  std::chrono::milliseconds cooldown{300'000};  // between two captures of a condition
  std::uint64_t most_files = 10;
  std::uint64_t most_bytes = std::uint64_t{1} << 30;  // of all of them
};

// When captures of the last minutes are written, and under which names: NAME.e4c, NAME-2.e4c, ...
// No file that exists is replaced. A capture is written on a thread of its own. What happens is
// told in notes, a line each.
class Incidents {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Incidents(IncidentOptions options) : options_(std::move(options)) {}

  [[nodiscard]] bool writes() const { return !options_.output.empty(); }
  [[nodiscard]] const IncidentOptions& options() const { return options_; }
  // Somebody, or a condition, wants a capture.
  void ask(const std::string& reason, bool by_condition, Time now, std::vector<std::string>& notes);
  // The condition becomes true, or not.
  void look(const Picture& picture, Time now, std::vector<std::string>& notes);
  // Whether a capture is wanted, and whether its time has come.
  [[nodiscard]] bool is_wanted() const { return wanted_at_.has_value(); }
  [[nodiscard]] bool is_due(Time now) const {
    return wanted_at_ && now >= *wanted_at_ && !writing_.valid();
  }
  // Writes the capture that is wanted. `kept`: nothing if nothing is kept yet. `owner` holds what
  // the notes refer to.
  void write(std::optional<FlightRecorder::Kept> kept, FlightNotes notes,
             std::shared_ptr<const void> owner, std::vector<std::string>& told);
  // Tells what has been written. `wait`: waits until it is.
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
