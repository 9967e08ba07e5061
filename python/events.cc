// SPDX-License-Identifier: GPL-2.0-or-later
#include <pybind11/stl.h>

#include <e4replay/event.h>

#include "arrays.h"
#include "calls.h"
#include "events.h"
#include "module.h"

namespace e4replay::python {
namespace {

py::tuple extent_of(const RecordedExtent& extent) {
  return py::make_tuple(extent.group, extent.start, extent.len, extent.logical);
}

// A field with the same name in the class and in its dict.
template <class Get>
void field(py::class_<Event>& of, py::list& names, const char* name, Get get, const char* meaning) {
  of.def_property_readonly(name, get, meaning);
  names.append(name);
}

}  // namespace

Event Events::next() {
  const Busy busy(at_work_, "this reader of events");
  Event event;
  std::optional<Result<bool>> more;
  {
    const Released released;
    more.emplace(reader_.next(event));
  }
  if (!must(*std::move(more))) throw py::stop_iteration();
  return event;
}

void define_events(py::module_& module) {
  py::class_<Event> event(module, "Event", "One event of a trace; fields that it lacks are 0.");
  py::list names;
  const auto number = [&](const char* name, auto member, const char* meaning) {
    field(
        event, names, name, [member](const Event& of) { return of.*member; }, meaning);
  };
  field(
      event, names, "name", [](const Event& of) { return text(of.name); },
      "As the kernel calls it.");
  number("time_ns", &Event::time_ns, "By the clock of the trace, in nanoseconds.");
  number("ino", &Event::ino, "The inode.");
  number("block", &Event::block, "A block of the device.");
  number("count", &Event::count,
         "How many blocks, clusters or inodes; what is counted is the event's.");
  number("logical", &Event::logical, "A block of the file.");
  number("goal", &Event::goal, "The block of the device that was asked for.");
  number("left_block", &Event::left_block,
         "The block of the device behind which the request lies in the file; 0: none.");
  number("right_block", &Event::right_block,
         "The block of the device before which it lies; 0: none.");
  number("parent", &Event::parent, "The directory's inode.");
  number("i_size", &Event::i_size, "The file's size in bytes; of a trace that has_inputs.");
  field(
      event, names, "orig", [](const Event& of) { return extent_of(of.orig); },
      "What was asked for: (group, first cluster, clusters, block of the file).");
  field(
      event, names, "goal_extent", [](const Event& of) { return extent_of(of.goal_extent); },
      "What was searched for, likewise.");
  field(
      event, names, "result", [](const Event& of) { return extent_of(of.result); },
      "What was found, likewise.");
  number("left_logical", &Event::left_logical, "The block of the file that left_block is.");
  number("right_logical", &Event::right_logical, "The block of the file that right_block is.");
  field(
      event, names, "device",
      [](const Event& of) {
        return std::to_string(of.device_major) + ":" + std::to_string(of.device_minor);
      },
      "MAJOR:MINOR.");
  number("pid", &Event::pid, "The thread that was at work.");
  number("cpu", &Event::cpu, "The CPU that it was on.");
  number("flags", &Event::flags, "Of the request, as the kernel numbers them (EXT4_MB_*).");
  number("group", &Event::group, "The group.");
  number("needed", &Event::needed, "How many preallocations were to be given back; 0: all.");
  number("found", &Event::found, "Free extents that the search looked at.");
  number("groups", &Event::groups, "Groups that it scanned.");
  number("tail", &Event::tail, "Clusters left over of the chunk that was broken.");
  number("broken", &Event::broken, "Clusters of the chunk that was broken.");
  number("orig_goal_len", &Event::orig_goal_len,
         "The goal's length before a rung made it shorter.");
  number("i_writecount", &Event::i_writecount,
         "How many have the file open for writing; of a trace that has_inputs.");
  number("mode", &Event::mode, "Type and permissions of the inode.");
  field(
      event, names, "criterion", [](const Event& of) { return text(criterion_name(of.criterion)); },
      "The rung in which the search ended.");
  number("has_inputs", &Event::has_inputs, "Whether i_size and i_writecount were recorded.");
  event.attr("_fields") = py::tuple(names);
  event.def("__repr__", repr_of({"name", "time_ns", "ino", "block", "count", "logical", "pid"}));

  py::class_<Events>(module, "EventReader", "What e4replay.EventReader stands on.")
      .def_static(
          "open",
          [](const std::string& path, const std::string& device, const std::string& generation,
             const std::optional<std::string>& buffer, bool lenient, bool any_ratio) {
            return std::make_unique<Events>(long_call([&](const Listener&) {
              const auto open = any_ratio ? EventReader::open_any_ratio : EventReader::open;
              return open(path, {device, generation, buffer, lenient});
            }));
          })
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &Events::next);
}

}  // namespace e4replay::python
