// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/incidents.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "util/units.h"

namespace e4r::watch {

void Incidents::ask(const std::string& reason, bool by_condition, Time now,
                    std::vector<std::string>& notes) {
  if (!writes()) return notes.push_back(reason + ": there is no -o to write a capture to");
  if (wanted_at_) return;
  if (by_condition && last_asked_ && now - *last_asked_ < options_.cooldown) return;
  if (files_ >= options_.most_files || bytes_ >= options_.most_bytes)
    return notes.push_back(fmt::format("{}: no capture, because {} files with {} were written",
                                       reason, files_, format_size(bytes_)));
  reason_ = reason;
  wanted_at_ = now + options_.after;
  if (by_condition) last_asked_ = now;
  notes.push_back(fmt::format("{}: a capture in {} ms", reason, options_.after.count()));
}

void Incidents::look(const Picture& picture, Time now, std::vector<std::string>& notes) {
  if (options_.when && options_.when->becomes_true(picture))
    ask(options_.when->text(), true, now, notes);
}

std::string Incidents::next_name() const {
  constexpr std::string_view kSuffix = ".e4c";
  const std::size_t suffix = options_.output.ends_with(kSuffix) ? kSuffix.size() : 0;
  const std::string base = options_.output.substr(0, options_.output.size() - suffix);
  std::string out = options_.output;
  for (unsigned number = 2; ::access(out.c_str(), F_OK) == 0; ++number)
    out = fmt::format("{}-{}{}", base, number, kSuffix);
  return out;
}

void Incidents::write(std::optional<FlightRecorder::Kept> kept, FlightNotes notes,
                      std::shared_ptr<const void> owner, std::vector<std::string>& messages) {
  wanted_at_.reset();
  if (!kept) return messages.push_back(reason_ + ": no capture, because nothing was kept yet");
  notes.reason = reason_;
  writing_name_ = next_name();
  writing_ = std::async(std::launch::async, [kept = *std::move(kept), notes = std::move(notes),
                                             owner = std::move(owner), name = writing_name_] {
    return write_flight(kept, notes, name);
  });
}

void Incidents::collect(bool wait, std::vector<std::string>& notes) {
  if (!writing_.valid()) return;
  if (!wait && writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  const Status status = writing_.get();
  if (!status.ok()) return notes.push_back("no capture: " + status.error().message);
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(writing_name_, failed);
  ++files_;
  bytes_ += failed ? 0 : size;
  last_file_ = writing_name_;
  notes.push_back(fmt::format("{}: wrote {}", reason_, writing_name_));
}

}  // namespace e4r::watch
