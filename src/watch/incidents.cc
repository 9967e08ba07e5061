// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/incidents.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "results/rows.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::watch {

Result<When> When::parse(const std::string& text,
                         std::span<const allocator::Policy* const> shadows) {
  When out;
  out.text_ = text;
  std::string condition = text;
  constexpr std::string_view kFor = " for ";
  if (const auto at = text.rfind(kFor); at != std::string::npos) {
    condition = text.substr(0, at);
    E4R_TRY(const auto time, parse_duration(trim(text.substr(at + kFor.size()))));
    out.for_ns_ = static_cast<std::uint64_t>(time.count()) * 1'000'000;
  }
  if (trim(condition).empty()) return error("no condition");
  const auto rows = results::rows(results::Reporter::watch);
  const auto add = [&](const std::string& prefix, const std::string& column, Window window) {
    for (std::size_t row = 0; row < rows.size(); ++row)
      out.figures_.push_back({prefix + rows[row].key, column, window, row});
  };
  add("", "recorded", Window::second);
  add("minute:", "recorded", Window::minute);
  for (const allocator::Policy* policy : shadows) {
    const std::string name(policy->name);
    add(name + ":", name, Window::second);
  }
  ConditionNames names;
  names.fractions = true;
  names.figure = [&out](std::string_view wanted) -> Result<std::size_t> {
    const auto found = std::ranges::find(out.figures_, wanted, &Figure::name);
    if (found != out.figures_.end()) return static_cast<std::size_t>(found - out.figures_.begin());
    return error(
        "'{}' is neither a number nor the name of a figure: the document of --json has their names",
        printable(wanted));
  };
  E4R_TRY(out.condition_, Condition::parse(condition, names));
  return out;
}

bool When::holds(const Picture& picture) const {
  const auto value_of = [&](std::size_t index) -> std::optional<Condition::Number> {
    const Figure& figure = figures_[index];
    const auto column = std::ranges::find(picture.columns, figure.column, &Column::name);
    if (column == picture.columns.end() || !column->of(figure.window)) return std::nullopt;
    const results::Row& row = results::rows(results::Reporter::watch)[figure.row];
    return results::exact_number_of(row.of(*column->of(figure.window)));
  };
  return condition_.holds({value_of, {}}).value_or(false);
}

bool When::becomes_true(const Picture& picture) {
  if (!holds(picture)) {
    since_ns_.reset();
    was_true_ = false;
    return false;
  }
  // A run that starts over may have an earlier time.
  if (!since_ns_ || *since_ns_ > picture.followed_ns) since_ns_ = picture.followed_ns;
  if (picture.followed_ns - *since_ns_ < for_ns_) return false;
  return !std::exchange(was_true_, true);
}

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
