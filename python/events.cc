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

// A field under one name in the class and in its dict.
template <class Get>
void field(py::class_<Event>& of, py::list& names, const char* name, Get get) {
  of.def_property_readonly(name, get);
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
  const auto number = [&](const char* name, auto member) {
    field(event, names, name, [member](const Event& of) { return of.*member; });
  };
  field(event, names, "name", [](const Event& of) { return text(of.name); });
  number("time_ns", &Event::time_ns);
  number("ino", &Event::ino);
  number("block", &Event::block);
  number("count", &Event::count);
  number("logical", &Event::logical);
  number("goal", &Event::goal);
  number("left_block", &Event::left_block);
  number("right_block", &Event::right_block);
  number("parent", &Event::parent);
  number("i_size", &Event::i_size);
  field(event, names, "orig", [](const Event& of) { return extent_of(of.orig); });
  field(event, names, "goal_extent", [](const Event& of) { return extent_of(of.goal_extent); });
  field(event, names, "result", [](const Event& of) { return extent_of(of.result); });
  number("left_logical", &Event::left_logical);
  number("right_logical", &Event::right_logical);
  field(event, names, "device", [](const Event& of) {
    return std::to_string(of.device_major) + ":" + std::to_string(of.device_minor);
  });
  number("pid", &Event::pid);
  number("cpu", &Event::cpu);
  number("flags", &Event::flags);
  number("group", &Event::group);
  number("needed", &Event::needed);
  number("found", &Event::found);
  number("groups", &Event::groups);
  number("tail", &Event::tail);
  number("broken", &Event::broken);
  number("orig_goal_len", &Event::orig_goal_len);
  number("i_writecount", &Event::i_writecount);
  number("mode", &Event::mode);
  field(event, names, "criterion",
        [](const Event& of) { return text(criterion_name(of.criterion)); });
  number("has_inputs", &Event::has_inputs);
  event.attr("_fields") = py::tuple(names);

  py::class_<Events>(module, "EventReader")
      .def(py::init([](const std::string& path, const std::string& device,
                       const std::string& generation, const std::optional<std::string>& buffer,
                       bool lenient) {
        return std::make_unique<Events>(long_call([&](const Listener&) {
          return EventReader::open(path, {device, generation, buffer, lenient});
        }));
      }))
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &Events::next);
}

}  // namespace e4replay::python
