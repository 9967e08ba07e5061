// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/report.h>

#include "library/data.h"
#include "report/replay_report.h"
#include "results/rows.h"

namespace e4replay {
namespace {

namespace report = e4r::report;
namespace results = e4r::results;

static_assert(static_cast<int>(Better::none) == static_cast<int>(results::Better::none));
static_assert(static_cast<int>(Better::lower) == static_cast<int>(results::Better::lower));
static_assert(static_cast<int>(Better::higher) == static_cast<int>(results::Better::higher));
static_assert(std::is_same_v<Value, results::Value>);

Agreement public_agreement(const e4r::replay::Agreement& agreement) {
  Agreement out;
  out.decisions = agreement.requests;
  out.identical = agreement.identical;
  out.same_block = agreement.same_block;
  out.same_length = agreement.same_length;
  out.same_criterion = agreement.same_criterion;
  out.races = agreement.races;
  if (const e4r::replay::Divergence* first = agreement.first_divergence())
    out.first =
        Divergence{first->decision, first->event, first->fields, first->recorded, first->modelled};
  return out;
}

}  // namespace

Report::Report(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
Report::Report(const Report&) = default;
Report::Report(Report&&) noexcept = default;
Report& Report::operator=(const Report&) = default;
Report& Report::operator=(Report&&) noexcept = default;
Report::~Report() = default;

std::vector<Column> Report::columns() const {
  std::vector<Column> out;
  for (const report::Column& column : report::columns(data_->report))
    out.push_back({column.name, column.recorded});
  return out;
}

std::vector<Row> Report::rows() const {
  std::vector<Row> out;
  const std::vector<report::Column> columns = report::columns(data_->report);
  for (const results::Row& row : results::rows()) {
    Row& made = out.emplace_back();
    made.key = row.key;
    made.section = row.section;
    made.label = row.label;
    made.better = static_cast<Better>(row.better);
    if (row.start) made.start = row.of(data_->report.start);
    made.values = report::values_of(row, columns);
    made.shown = report::is_shown(row, made.values);
  }
  return out;
}

Value Report::value(std::string_view key, std::size_t column) const {
  const results::Row* row = results::find_row(key);
  const std::vector<report::Column> columns = report::columns(data_->report);
  if (row == nullptr || column >= columns.size()) return {};
  return row->of(*columns[column].run);
}

std::optional<FreeExtents> Report::free_extents(std::size_t column) const {
  const std::vector<report::Column> columns = report::columns(data_->report);
  if (column >= columns.size()) return std::nullopt;
  return public_extents(columns[column].run->free.extents);
}

FreeExtents Report::free_extents_before() const {
  return public_extents(data_->report.start.free.extents);
}

Agreement Report::agreement() const {
  if (!data_->verified) return public_agreement(data_->report.recorded.value());
  const results::Outcome& run = data_->report.runs.front();
  return public_agreement(run.agreement ? *run.agreement : run.free_run.value());
}

bool Report::agrees() const {
  return data_->verified && data_->report.runs.front().agrees();
}

std::string Report::recorded_policy() const {
  return data_->report.recorded_policy;
}

std::string Report::text() const {
  return data_->verified ? report::verify_text(data_->report) : report::replay_text(data_->report);
}

std::string Report::json() const {
  return report::replay_json(data_->report);
}

}  // namespace e4replay
