// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/when.h"

#include <algorithm>
#include <string_view>
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

}  // namespace e4r::watch
