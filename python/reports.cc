// SPDX-License-Identifier: GPL-2.0-or-later
#include <pybind11/stl.h>

#include <e4replay/report.h>

#include "arrays.h"
#include "module.h"

namespace e4replay::python {
namespace {

// Converts a figure to int, float or None.
py::object figure(const Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return py::int_(*count);
  if (const auto* ratio = std::get_if<double>(&value)) return py::float_(*ratio);
  return py::none();
}

const char* better_word(Better better) {
  if (better == Better::none) return "";
  return better == Better::lower ? "lower" : "higher";
}

// Returns (key, section, label, better, shown, start, values) for each row.
py::list rows(const Report& report) {
  py::list out;
  for (const Row& row : report.rows()) {
    py::list values;
    for (const Value& value : row.values) values.append(figure(value));
    out.append(py::make_tuple(row.key, row.section, row.label, better_word(row.better), row.shown,
                              figure(row.start), values));
  }
  return out;
}

py::list column_names(const Report& report) {
  py::list out;
  for (const Column& column : report.columns()) out.append(text(column.name));
  return out;
}

}  // namespace

void define_reports(py::module_& module) {
  py::class_<Divergence>(module, "Divergence", "A decision that differs from the recorded one.")
      .def_readonly("decision", &Divergence::decision,
                    "The number of the decision, from 1, for --explain.")
      .def_readonly("event", &Divergence::event,
                    "The number of the event that closed the decision.")
      .def_property_readonly(
          "fields", [](const Divergence& of) { return text(of.fields); },
          "The names of the fields that differ.")
      .def_property_readonly(
          "recorded", [](const Divergence& of) { return text(of.recorded); },
          "The recorded kernel's decision.")
      .def_property_readonly(
          "modelled", [](const Divergence& of) { return text(of.modelled); },
          "The policy's decision.")
      .def("__repr__", repr_of({"decision", "fields", "recorded", "modelled"}));
  py::class_<Agreement>(module, "Agreement",
                        "How many decisions of a model equal those of the recorded kernel.")
      .def_readonly("decisions", &Agreement::decisions,
                    "Recorded decisions that could be compared.")
      .def_readonly("identical", &Agreement::identical,
                    "Decisions that are identical in every field.")
      .def_readonly("same_block", &Agreement::same_block, "Decisions with the same first block.")
      .def_readonly("same_length", &Agreement::same_length, "Decisions with the same length.")
      .def_readonly("same_criterion", &Agreement::same_criterion,
                    "Decisions that ended in the same rung.")
      .def_readonly("races", &Agreement::races,
                    "Different decisions during which another thread changed something.")
      .def_readonly("first", &Agreement::first, "The first decision that differs, or None.")
      .def_property_readonly("complete", &Agreement::complete,
                             "Whether all decisions are identical.")
      .def("__repr__", repr_of({"decisions", "identical", "races"}));
  py::class_<Report>(module, "Report", "The core of e4replay.Report.")
      .def("rows", rows)
      .def("columns", column_names)
      .def("free_extents", &Report::free_extents)
      .def("free_extents_before", &Report::free_extents_before)
      .def("agreement", &Report::agreement)
      .def("agrees", &Report::agrees)
      .def("recorded_policy", &Report::recorded_policy)
      .def("text", [](const Report& report) { return text(report.text()); })
      .def("json", [](const Report& report) { return text(report.json()); });
}

}  // namespace e4replay::python
