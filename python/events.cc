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

// Defines an attribute of Event. Its name is added to `names`, the keys of the event's dict.
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
  py::class_<Event> event(module, "Event",
                          "One event of a trace. Fields that its kind does not have are 0.");
  py::list names;
  const auto number = [&](const char* name, auto member, const char* meaning) {
    field(
        event, names, name, [member](const Event& of) { return of.*member; }, meaning);
  };
  field(
      event, names, "name", [](const Event& of) { return text(of.name); },
      "The kernel's name of the event.");
  number("time_ns", &Event::time_ns, "The time in nanoseconds, by the clock of the trace.");
  number("ino", &Event::ino, "The inode.");
  number("block", &Event::block, "A block of the device.");
  number("count", &Event::count,
         "A number of blocks, clusters or groups, depending on the kind of event.");
  number("logical", &Event::logical, "A block of the file.");
  number("goal", &Event::goal, "The block of the device that the request prefers.");
  number("left_block", &Event::left_block,
         "The block of the device that holds the file's last block before the request, or 0 if "
         "no block is mapped there.");
  number("right_block", &Event::right_block,
         "The block of the device that holds the file's first block after the request, or 0 if "
         "no block is mapped there.");
  number("parent", &Event::parent, "The directory's inode.");
  number("i_size", &Event::i_size, "The file's size in bytes; only if has_inputs.");
  field(
      event, names, "orig", [](const Event& of) { return extent_of(of.orig); },
      "The requested extent: (group, first cluster, clusters, block of the file).");
  field(
      event, names, "goal_extent", [](const Event& of) { return extent_of(of.goal_extent); },
      "The extent that was searched for, in the same form.");
  field(
      event, names, "result", [](const Event& of) { return extent_of(of.result); },
      "The extent that was found, in the same form.");
  number("left_logical", &Event::left_logical, "The block of the file in left_block.");
  number("right_logical", &Event::right_logical, "The block of the file in right_block.");
  field(
      event, names, "device",
      [](const Event& of) {
        return std::to_string(of.device_major) + ":" + std::to_string(of.device_minor);
      },
      "MAJOR:MINOR.");
  number("pid", &Event::pid, "The thread that caused the event.");
  number("cpu", &Event::cpu, "The CPU of the thread.");
  number("flags", &Event::flags, "The flags of the request, with the kernel's values (EXT4_MB_*).");
  number("group", &Event::group, "The number of the group.");
  number("needed", &Event::needed, "How many preallocations to give back; 0: all.");
  number("found", &Event::found, "Free extents that the search examined.");
  number("groups", &Event::groups, "Groups that the search scanned.");
  number("tail", &Event::tail, "Clusters left over from the chunk that was split.");
  number("broken", &Event::broken, "Clusters of the chunk that was split.");
  number("orig_goal_len", &Event::orig_goal_len,
         "The goal's length before a rung made it shorter.");
  number("i_writecount", &Event::i_writecount,
         "How many times the file is open for writing; only if has_inputs.");
  number("mode", &Event::mode, "The type and permissions of the inode.");
  field(
      event, names, "criterion", [](const Event& of) { return text(criterion_name(of.criterion)); },
      "The rung in which the search ended.");
  number("has_inputs", &Event::has_inputs, "Whether i_size and i_writecount were recorded.");
  event.attr("_fields") = py::tuple(names);
  event.def("__repr__", repr_of({"name", "time_ns", "ino", "block", "count", "logical", "pid"}));

  py::class_<Events>(module, "EventReader", "The core of e4replay.EventReader.")
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
