// SPDX-License-Identifier: GPL-2.0-or-later
#include "search.h"

#include <e4replay/own_policy.h>

#include <cstring>

#include "calls.h"

namespace e4replay::python {
namespace {

namespace plugin = e4replay::plugin;

struct SearchObject {
  PyObject_HEAD const plugin::Search* search;  // null after the call
  bool changes;
};
struct GroupObject {
  PyObject_HEAD SearchObject* owner;
  const plugin::Group* group;
};
using First = const plugin::Group* (*)(const plugin::Search&, std::uint32_t);
using Next = const plugin::Group* (*)(const plugin::Search&, std::uint32_t, const plugin::Group&);
struct ListObject {
  PyObject_HEAD SearchObject* owner;
  const plugin::Group* next;  // null at the end
  std::uint32_t order;
  Next step;
};

PyTypeObject* search_type = nullptr;
PyTypeObject* group_type = nullptr;
PyTypeObject* list_type = nullptr;

// Raises the exception for the use of an expired object. Returns null.
const plugin::Search* over() {
  try {
    raise("the search is over: a policy may use it, its groups and its lists only during the call");
  } catch (py::error_already_set& error) {
    error.restore();
  }
  return nullptr;
}

const plugin::Search* search_of(PyObject* self) {
  const auto* object = reinterpret_cast<SearchObject*>(self);
  return object->search != nullptr ? object->search : over();
}
const plugin::Group* group_of(PyObject* self) {
  const auto* object = reinterpret_cast<GroupObject*>(self);
  if (object->owner->search != nullptr) return object->group;
  over();
  return nullptr;
}

template <class T>
T* make(PyTypeObject* type, SearchObject* owner) {
  T* const out = PyObject_New(T, type);
  if (out == nullptr) throw py::error_already_set();
  Py_INCREF(owner);
  out->owner = owner;
  return out;
}

PyObject* make_group(SearchObject* owner, const plugin::Group& group) {
  auto* const out = make<GroupObject>(group_type, owner);
  out->group = &group;
  return reinterpret_cast<PyObject*>(out);
}

template <class T>
void free_owned(PyObject* self) {
  Py_DECREF(reinterpret_cast<T*>(self)->owner);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}
void free_search(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// Parses a number from `least` to `most`. On failure, sets an exception and returns -1.
long long number_arg(PyObject* argument, long long most, const char* what, long long least = 0) {
  const long long out = PyLong_AsLongLong(argument);
  if (out == -1 && PyErr_Occurred() != nullptr) return -1;
  if (out >= least && out <= most) return out;
  PyErr_Format(PyExc_ValueError, "%s is %lld: it may be %lld to %lld", what, out, least, most);
  return -1;
}

// ---- Attributes.

PyObject* python_of(bool value) {
  return PyBool_FromLong(value ? 1 : 0);
}
PyObject* python_of(std::uint32_t value) {
  return PyLong_FromUnsignedLong(value);
}
PyObject* python_of(std::int32_t value) {
  return PyLong_FromLong(value);
}
PyObject* python_of(std::uint64_t value) {
  return PyLong_FromUnsignedLongLong(value);
}

template <auto Of>
PyObject* get_of_search(PyObject* self, void*) {
  const plugin::Search* const search = search_of(self);
  return search == nullptr ? nullptr : python_of(Of(*search));
}
template <auto Of>
PyObject* get_of_group(PyObject* self, void*) {
  const plugin::Group* const group = group_of(self);
  return group == nullptr ? nullptr : python_of(Of(*group));
}

// Returns the search if the function may change it, as choose() and leave() may. Otherwise returns
// null with an exception set.
plugin::Search* changeable_search(PyObject* self) {
  const plugin::Search* const search = search_of(self);
  if (search == nullptr) return nullptr;
  if (reinterpret_cast<SearchObject*>(self)->changes) return const_cast<plugin::Search*>(search);
  PyErr_SetString(PyExc_AttributeError, "only choose() and leave() may change the goal's length");
  return nullptr;
}

int set_goal_len(PyObject* self, PyObject* value, void*) {
  plugin::Search* const search = changeable_search(self);
  if (search == nullptr) return -1;
  if (value == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "goal_len cannot be deleted");
    return -1;
  }
  const long long len = number_arg(value, plugin::full_goal_len(*search), "goal_len", 1);
  if (len < 0) return -1;
  plugin::set_goal_len(*search, static_cast<std::uint32_t>(len));
  return 0;
}

// ---- Methods of a search.

PyObject* restore_goal(PyObject* self, PyObject*) {
  plugin::Search* const search = changeable_search(self);
  if (search == nullptr) return nullptr;
  plugin::restore_goal(*search);
  Py_RETURN_NONE;
}

PyObject* count_group(PyObject* self, PyObject*) {
  plugin::Search* const search = changeable_search(self);
  if (search == nullptr) return nullptr;
  plugin::count_group(*search);
  Py_RETURN_NONE;
}

PyObject* is_usable(PyObject* self, PyObject* argument) {
  const plugin::Search* const search = search_of(self);
  if (search == nullptr) return nullptr;
  long long number = number_of_group(argument);
  if (number < 0) number = number_arg(argument, UINT32_MAX, "the group");
  if (number < 0) return nullptr;
  return python_of(plugin::is_usable(*search, static_cast<std::uint32_t>(number)));
}

PyObject* tunable(PyObject* self, PyObject* argument) {
  const plugin::Search* const search = search_of(self);
  if (search == nullptr) return nullptr;
  const char* const name = PyUnicode_AsUTF8(argument);
  return name == nullptr ? nullptr : python_of(plugin::tunable(*search, name));
}

PyObject* group(PyObject* self, PyObject* argument) {
  const plugin::Search* const search = search_of(self);
  if (search == nullptr) return nullptr;
  const long long number =
      number_arg(argument, static_cast<long long>(plugin::groups(*search)) - 1, "the group");
  if (number < 0) return nullptr;
  return make_group(reinterpret_cast<SearchObject*>(self),
                    plugin::group(*search, static_cast<std::uint32_t>(number)));
}

template <bool ByLargest>
PyObject* list(PyObject* self, PyObject* argument) {
  const plugin::Search* const search = search_of(self);
  if (search == nullptr) return nullptr;
  const plugin::Host& host = *plugin::host;
  const long long order =
      number_arg(argument, static_cast<long long>(plugin::orders(*search)) - 1, "the order");
  if (order < 0) return nullptr;
  auto* const out = make<ListObject>(list_type, reinterpret_cast<SearchObject*>(self));
  out->order = static_cast<std::uint32_t>(order);
  out->step = ByLargest ? host.next_by_largest : host.next_by_average;
  const First first = ByLargest ? host.first_by_largest : host.first_by_average;
  out->next = first(*search, out->order);
  return reinterpret_cast<PyObject*>(out);
}

// Even an expired object can be printed.
PyObject* repr_of_search(PyObject* self) {
  const plugin::Search* const search = reinterpret_cast<SearchObject*>(self)->search;
  if (search == nullptr) return PyUnicode_FromString("<e4replay.Search, over>");
  return PyUnicode_FromFormat("<e4replay.Search asked_len=%u goal_len=%u goal_group=%u>",
                              static_cast<unsigned>(plugin::asked_len(*search)),
                              static_cast<unsigned>(plugin::goal_len(*search)),
                              static_cast<unsigned>(plugin::goal_group(*search)));
}
PyObject* repr_of_group(PyObject* self) {
  const auto* const object = reinterpret_cast<GroupObject*>(self);
  if (object->owner->search == nullptr)
    return PyUnicode_FromString("<e4replay.SearchedGroup, over>");
  return PyUnicode_FromFormat("<e4replay.SearchedGroup %u: free_clusters=%u>",
                              static_cast<unsigned>(plugin::number(*object->group)),
                              static_cast<unsigned>(plugin::free_clusters(*object->group)));
}

PyObject* list_iter(PyObject* self) {
  Py_INCREF(self);
  return self;
}
PyObject* list_next(PyObject* self) {
  auto* const object = reinterpret_cast<ListObject*>(self);
  const plugin::Search* const search = search_of(reinterpret_cast<PyObject*>(object->owner));
  if (search == nullptr || object->next == nullptr) return nullptr;
  PyObject* const out = make_group(object->owner, *object->next);
  object->next = object->step(*search, object->order, *object->next);
  return out;
}

// ---- Types.

PyGetSetDef search_attributes[] = {
    {"asked_len", get_of_search<plugin::asked_len>, nullptr, "Clusters in the request.", nullptr},
    {"goal_len", get_of_search<plugin::goal_len>, set_goal_len,
     "Clusters that are searched for. choose() and leave() may set it.", nullptr},
    {"full_goal_len", get_of_search<plugin::full_goal_len>, nullptr,
     "The goal's length after normalisation, in clusters.", nullptr},
    {"goal_group", get_of_search<plugin::goal_group>, nullptr, "The group of the goal.", nullptr},
    {"goal_order", get_of_search<plugin::goal_order>, nullptr,
     "The order of the goal if it is a power of two that the buddy can serve; otherwise 0.",
     nullptr},
    {"stripe", get_of_search<plugin::stripe>, nullptr,
     "The stripe in clusters, or 0 without a stripe.", nullptr},
    {"flags", get_of_search<plugin::flags>, nullptr,
     "The flags of the request, with the kernel's values (EXT4_MB_*).", nullptr},
    {"has_lists", get_of_search<plugin::has_lists>, nullptr,
     "Whether the file system keeps groups on lists by order.", nullptr},
    {"groups", get_of_search<plugin::groups>, nullptr, "The number of groups in the file system.",
     nullptr},
    {"orders", get_of_search<plugin::orders>, nullptr, "Buddy orders are 0 to orders - 1.",
     nullptr},
    {"clusters_per_group", get_of_search<plugin::clusters_per_group>, nullptr,
     "Clusters in a group. The last group may have fewer.", nullptr},
    {}};
PyMethodDef search_methods[] = {
    {"is_usable", is_usable, METH_O, "Whether the lists may give the group to the file."},
    {"tunable", tunable, METH_O,
     "The value of the tunable with that name; 0 if no tunable has it."},
    {"group", group, METH_O, "The group with that number."},
    {"by_largest", list<true>, METH_O,
     "The groups whose largest free chunk has that order, in the order of their list."},
    {"by_average", list<false>, METH_O,
     "The groups whose average free run has 2^order to 2^(order + 1) - 1 clusters."},
    {"restore_goal", restore_goal, METH_NOARGS, "Sets goal_len to full_goal_len."},
    {"count_group", count_group, METH_NOARGS,
     "Counts a group in mb_stats. choose() must call it for each group that it examines."},
    {}};
PyGetSetDef group_attributes[] = {
    {"number", get_of_group<plugin::number>, nullptr, "The group's number, from 0.", nullptr},
    {"free_clusters", get_of_group<plugin::free_clusters>, nullptr,
     "Free clusters; according to the descriptor if the group is not loaded.", nullptr},
    {"free_runs", get_of_group<plugin::free_runs>, nullptr,
     "Runs of free clusters; 0 if the group is not loaded.", nullptr},
    {"largest_order", get_of_group<plugin::largest_order>, nullptr,
     "The order of the largest free chunk; -1 if no chunk is free.", nullptr},
    {"is_loaded", get_of_group<plugin::is_loaded>, nullptr,
     "Whether the group's buddy is in memory.", nullptr},
    {"is_damaged", get_of_group<plugin::is_damaged>, nullptr,
     "Whether the group is damaged, so that nothing may be allocated in it.", nullptr},
    {}};

PyTypeObject* make_type(py::module_& module, const char* name, int size, PyType_Slot* slots) {
  PyType_Spec spec = {name, size, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  module.add_object(std::strrchr(name, '.') + 1, py::reinterpret_borrow<py::object>(type));
  return reinterpret_cast<PyTypeObject*>(type);
}

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void define_search(py::module_& module) {
  plugin::host = &plugin_host();
  PyType_Slot search_slots[] = {
      {Py_tp_doc, const_cast<char*>("One request on its way through the ladder; lengths in "
                                    "clusters. Valid during the call that gets it.")},
      {Py_tp_dealloc, slot(free_search)},
      {Py_tp_repr, slot(repr_of_search)},
      {Py_tp_getset, search_attributes},
      {Py_tp_methods, search_methods},
      {0, nullptr}};
  search_type = make_type(module, "e4replay.Search", sizeof(SearchObject), search_slots);
  PyType_Slot group_slots[] = {
      {Py_tp_doc, const_cast<char*>("A group that is searched. Before it is loaded, only "
                                    "free_clusters is known. Valid during the call.")},
      {Py_tp_dealloc, slot(free_owned<GroupObject>)},
      {Py_tp_repr, slot(repr_of_group)},
      {Py_tp_getset, group_attributes},
      {0, nullptr}};
  group_type = make_type(module, "e4replay.SearchedGroup", sizeof(GroupObject), group_slots);
  PyType_Slot list_slots[] = {
      {Py_tp_doc, const_cast<char*>("The groups of a list. Valid during the call.")},
      {Py_tp_dealloc, slot(free_owned<ListObject>)},
      {Py_tp_iter, slot(list_iter)},
      {Py_tp_iternext, slot(list_next)},
      {0, nullptr}};
  list_type = make_type(module, "e4replay.GroupList", sizeof(ListObject), list_slots);
}

GivenSearch::GivenSearch(const plugin::Search& search, bool changes) {
  auto* const out = PyObject_New(SearchObject, search_type);
  if (out == nullptr) throw py::error_already_set();
  out->search = &search;
  out->changes = changes;
  object_ = reinterpret_cast<PyObject*>(out);
}

GivenSearch::~GivenSearch() {
  reinterpret_cast<SearchObject*>(object_)->search = nullptr;
  Py_DECREF(object_);
}

PyObject* GivenSearch::group(const plugin::Group& group) const {
  return make_group(reinterpret_cast<SearchObject*>(object_), group);
}

long long number_of_group(PyObject* object) {
  if (Py_TYPE(object) != group_type) return -1;
  const auto* of = reinterpret_cast<GroupObject*>(object);
  return of->owner->search == nullptr ? -1 : static_cast<long long>(plugin::number(*of->group));
}

}  // namespace e4replay::python
