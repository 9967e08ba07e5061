// SPDX-License-Identifier: GPL-2.0-or-later
#include "decisions.h"

#include "arrays.h"

namespace e4replay::python {
namespace {

// Calls use(name, member, meaning) for each member, in the order of the table's columns.
template <class Use>
void each_member(Use use) {
  use("number", &DecisionRow::number,
      "The number of the recorded decision, from 1, for --explain. 0 from Allocator.allocate().");
  use("event", &DecisionRow::event, "The number of the event that closed the decision.");
  use("ino", &DecisionRow::ino, "The file's inode.");
  use("logical", &DecisionRow::logical, "The first block of the file in the request.");
  use("asked", &DecisionRow::asked, "Clusters in the request.");
  use("success", &DecisionRow::success, "Whether there was space.");
  use("preallocated", &DecisionRow::preallocated,
      "Whether a preallocation served the request, without a search.");
  use("block", &DecisionRow::block, "The first allocated block of the device.");
  use("len", &DecisionRow::len, "Allocated clusters.");
  use("group", &DecisionRow::group, "The group in which space was found.");
  use("start", &DecisionRow::start, "The first cluster that was taken in that group.");
  use("taken", &DecisionRow::taken, "Clusters that were taken, including preallocated ones.");
  use("criterion", &DecisionRow::criterion, "The rung in which the search ended.");
  use("extents_examined", &DecisionRow::extents_examined, "Free extents that the search examined.");
  use("groups_scanned", &DecisionRow::groups_scanned, "Groups that the search scanned.");
  use("goal_group", &DecisionRow::goal_group, "The group of the goal.");
  use("goal_start", &DecisionRow::goal_start, "The goal's first cluster in that group.");
  use("goal_len", &DecisionRow::goal_len, "Clusters that were searched for.");
  use("flags", &DecisionRow::flags,
      "The flags of the search, with the kernel's values (EXT4_MB_*).");
}

py::str criterion_of(std::uint8_t criterion) {
  return text(criterion_name(static_cast<Criterion>(criterion)));
}

py::object value_of(const DecisionRow& row, std::uint8_t DecisionRow::*member) {
  return criterion_of(row.*member);
}
template <class T>
py::object value_of(const DecisionRow& row, T DecisionRow::*member) {
  return py::cast(row.*member);
}

// The meanings of the numbers in the column `criterion`.
py::list criteria() {
  py::list out;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Criterion::own_4); ++i)
    out.append(criterion_of(i));
  return out;
}

py::dict columns(const Decisions& of) {
  py::dict out;
  each_member([&](const char* name, auto member, const char*) {
    using T = std::remove_reference_t<decltype(DecisionRow().*member)>;
    out[name] = column<DecisionRow, T>(of.rows, member);
  });
  return out;
}

DecisionRow at(const Decisions& of, py::ssize_t index) {
  const auto size = static_cast<py::ssize_t>(of.rows->size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) throw py::index_error("there is no decision with that index");
  return (*of.rows)[static_cast<std::size_t>(index)];
}

}  // namespace

DecisionRow row_of(const Decision& of) {
  DecisionRow out;
  out.block = of.block;
  out.len = of.len;
  out.group = of.result.group;
  out.start = of.result.start;
  out.taken = of.result.len;
  out.goal_group = of.goal.group;
  out.goal_start = static_cast<std::int32_t>(of.goal.start);
  out.goal_len = of.goal.len;
  out.extents_examined = of.extents_examined;
  out.groups_scanned = of.groups_scanned;
  out.flags = of.flags;
  out.criterion = static_cast<std::uint8_t>(of.criterion);
  out.success = of.success;
  out.preallocated = of.preallocated;
  return out;
}

DecisionRow row_of(const ReplayedDecision& of) {
  DecisionRow out = row_of(of.decision);
  out.number = of.number;
  out.event = of.event;
  out.ino = of.ino;
  out.logical = of.logical;
  out.asked = of.asked;
  return out;
}

void define_decisions(py::module_& module) {
  py::class_<DecisionRow> row(module, "Decision",
                              "The outcome of a request. Counts are in clusters.");
  py::list names;
  each_member([&](const char* name, auto member, const char* meaning) {
    row.def_property_readonly(
        name, [member](const DecisionRow& of) { return value_of(of, member); }, meaning);
    names.append(name);
  });
  row.attr("_fields") = py::tuple(names);
  row.def("__repr__",
          repr_of({"number", "ino", "logical", "asked", "success", "block", "len", "criterion"}));
  py::class_<Decisions>(module, "Decisions", "The core of e4replay.Decisions.")
      .def("__len__", [](const Decisions& of) { return of.rows->size(); })
      .def("at", at)
      .def("columns", columns)
      .def_property_readonly("report", [](const Decisions& of) { return of.report; });
  module.def("criteria", criteria);
}

}  // namespace e4replay::python
