// SPDX-License-Identifier: GPL-2.0-or-later
#include <pybind11/stl.h>

#include <e4replay/event.h>
#include <e4replay/own_policy.h>
#include <e4replay/policy.h>

#include <array>
#include <deque>
#include <set>

#include "arrays.h"
#include "calls.h"
#include "module.h"
#include "search.h"

namespace e4replay::python {
namespace {

// The functions of a ladder have no argument that identifies their policy. So each live Python
// policy has a slot, and each slot has functions of its own.
constexpr std::size_t kSlots = 64;

// The policy that a slot's functions call. Access needs the lock.
struct Slot {
  PyObject* policy = nullptr;  // borrowed from the caller of the library; null if the slot is free
};
std::array<Slot, kSlots> all_slots;

// Names of methods.
struct Names {
  PyObject* applies = PyUnicode_InternFromString("applies");
  PyObject* least_free = PyUnicode_InternFromString("least_free");
  PyObject* good = PyUnicode_InternFromString("good");
  PyObject* choose = PyUnicode_InternFromString("choose");
  PyObject* leave = PyUnicode_InternFromString("leave");
};
const Names& names() {
  static const Names all;
  return all;
}

// Returns the result of `ask_python`, or `otherwise` if it throws, because no exception may pass
// through the library. After an exception, the library's call ends soon, and Python is not called
// again before that.
template <class T, class Ask>
T ask(T otherwise, Ask ask_python) {
  Call* const call = Call::current();
  if (call == nullptr || call->stopped()) return otherwise;
  const Held held;
  try {
    return ask_python();
  } catch (...) {
    call->fail();
    return otherwise;
  }
}

// Calls a method of the slot's policy.
py::object invoke(const Slot& slot, PyObject* name, PyObject* search, PyObject* group = nullptr) {
  PyObject* const arguments[] = {slot.policy, search, group};
  PyObject* const out = PyObject_VectorcallMethod(
      name, arguments, (group == nullptr ? 2 : 3) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (out == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(out);
}

bool truth(const py::object& answer) {
  const int out = PyObject_IsTrue(answer.ptr());
  if (out < 0) throw py::error_already_set();
  return out != 0;
}

// Parses the result of choose(): None, a group or its number.
std::optional<std::uint32_t> parse_choice(const plugin::Search& search, const py::object& answer) {
  if (answer.is_none()) return std::nullopt;
  long long number = number_of_group(answer.ptr());
  if (number < 0) {
    number = PyLong_AsLongLong(answer.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  }
  if (number < 0 || number >= static_cast<long long>(plugin::groups(search)))
    throw py::value_error("choose() returned group " + std::to_string(number) +
                          ": the file system has 0 to " +
                          std::to_string(plugin::groups(search) - 1));
  const auto group = static_cast<std::uint32_t>(number);
  if (!plugin::is_usable(search, group))
    throw py::value_error("choose() returned group " + std::to_string(group) +
                          ", which is not usable for the file: ask search.is_usable()");
  return group;
}

template <std::size_t N>
struct Functions {
  static bool applies(const plugin::Search& search) {
    return ask(false, [&] {
      const GivenSearch given(search, false);
      return truth(invoke(all_slots[N], names().applies, given.object()));
    });
  }
  static std::uint32_t least_free(const plugin::Search& search) {
    return ask(std::uint32_t{1}, [&] {
      const GivenSearch given(search, false);
      return invoke(all_slots[N], names().least_free, given.object())
          .template cast<std::uint32_t>();
    });
  }
  static bool good(const plugin::Search& search, const plugin::Group& group) {
    return ask(false, [&] {
      const GivenSearch given(search, false);
      const auto of = py::reinterpret_steal<py::object>(given.group(group));
      return truth(invoke(all_slots[N], names().good, given.object(), of.ptr()));
    });
  }
  static std::optional<std::uint32_t> choose(plugin::Search& search) {
    return ask(std::optional<std::uint32_t>(), [&] {
      const GivenSearch given(search, true);
      return parse_choice(search, invoke(all_slots[N], names().choose, given.object()));
    });
  }
  static void leave(plugin::Search& search) {
    ask(false, [&] {
      const GivenSearch given(search, true);
      invoke(all_slots[N], names().leave, given.object());
      return true;
    });
  }
};

struct SlotFunctions {
  decltype(plugin::Rung::applies) applies;
  decltype(plugin::Rung::least_free) least_free;
  decltype(plugin::Rung::good) good;
  decltype(plugin::Rung::choose) choose;
  decltype(plugin::Rung::leave) leave;
};
template <std::size_t... N>
constexpr std::array<SlotFunctions, sizeof...(N)> functions_of(std::index_sequence<N...>) {
  return {{{Functions<N>::applies, Functions<N>::least_free, Functions<N>::good,
            Functions<N>::choose, Functions<N>::leave}...}};
}
constexpr auto kFunctions = functions_of(std::make_index_sequence<kSlots>());

// Returns the library's criterion with this name.
std::optional<Criterion> criterion_named(const std::string& name) {
  for (std::uint8_t i = 0; static_cast<Criterion>(i) != Criterion::unknown; ++i)
    if (criterion_name(static_cast<Criterion>(i)) == name) return static_cast<Criterion>(i);
  return std::nullopt;
}

plugin::Rung library_rung(const std::string& policy, const std::string& criterion) {
  plugin::Rung out;
  const std::optional<Criterion> of = criterion_named(criterion);
  if (!of || !plugin_host().rung(policy.c_str(), *of, &out))
    raise("policy " + policy + " has no rung " + criterion);
  return out;
}

// The library keeps pointers to some strings, even in reports, so these strings are never freed.
const char* keep_text(const std::string& text) {
  static std::set<std::string> all;
  return all.insert(text).first->c_str();
}

// The attributes that e4replay.Policy gives to its own rung.
struct OwnRung {
  std::string criterion, meaning, scan, lengths;
  bool fast = false, striped = false;
  std::set<std::string> methods;  // methods that the class defines
};

plugin::Lengths lengths_named(const std::string& name) {
  if (name == "all") return plugin::Lengths::all;
  if (name == "long_ones") return plugin::Lengths::long_ones;
  if (name == "long_runs") return plugin::Lengths::long_runs;
  raise("lengths is '" + name + "': give all, long_ones or long_runs");
}
plugin::Scan scan_named(const std::string& name) {
  if (name == "chunks") return plugin::Scan::chunks;
  if (name == "extents") return plugin::Scan::extents;
  raise("scan is '" + name + "': give chunks or extents");
}

plugin::Rung rung_of(const OwnRung& own, const SlotFunctions& functions) {
  plugin::Rung out;
  if (const std::optional<Criterion> criterion = criterion_named(own.criterion))
    out.criterion = *criterion;
  else
    out.name = keep_text(own.criterion);
  out.meaning = keep_text(own.meaning);
  out.fast = own.fast;
  out.striped = own.striped;
  out.scan = scan_named(own.scan);
  out.lengths = lengths_named(own.lengths);
  const auto has = [&](const char* method) { return own.methods.count(method) != 0; };
  out.applies = has("applies") ? functions.applies : plugin::always;
  out.least_free = has("least_free") ? functions.least_free : plugin::one_cluster;
  out.good = functions.good;
  if (has("choose")) out.choose = functions.choose;
  if (has("leave")) out.leave = functions.leave;
  return out;
}

// Keeps a Python policy registered in the library during its lifetime.
class Registered {
 public:
  // `ladder` has (policy, criterion) for each rung of the library, and ("", "") for the policy's
  // own rung.
  Registered(py::handle policy, const std::string& name, const std::string& summary,
             const std::string& source, const std::string& kernel,
             const std::vector<std::pair<std::string, std::string>>& ladder, const OwnRung& own) {
    for (number_ = 0; number_ < kSlots && all_slots[number_].policy != nullptr;) ++number_;
    if (number_ == kSlots) raise(std::to_string(kSlots) + " Python policies are alive: delete one");
    std::vector<plugin::Rung> rungs;
    for (const auto& [of, criterion] : ladder)
      rungs.push_back(of.empty() ? rung_of(own, kFunctions[number_]) : library_rung(of, criterion));
    plugin::Policy out;
    out.name = name.c_str();
    out.summary = summary.c_str();
    out.source = source.c_str();
    out.kernel = kernel.c_str();
    out.ladder = rungs.data();
    out.rungs = rungs.size();
    name_ = must(add_policy(out));
    all_slots[number_].policy = policy.ptr();
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() {
    remove_policy(name_);
    all_slots[number_] = {};
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::size_t number_ = 0;
  std::string name_;
};

}  // namespace

void define_policies(py::module_& module) {
  define_search(module);
  py::class_<PolicyInfo>(module, "PolicyInfo", "A policy: a ladder of rungs on a kernel's rules.")
      .def_property_readonly(
          "name", [](const PolicyInfo& of) { return text(of.name); }, "The name, as -p takes it.")
      .def_property_readonly(
          "alias", [](const PolicyInfo& of) { return text(of.alias); },
          "Another name; empty if the policy has only one.")
      .def_property_readonly(
          "summary", [](const PolicyInfo& of) { return text(of.summary); },
          "A summary in one line.")
      .def_property_readonly(
          "source", [](const PolicyInfo& of) { return text(of.source); },
          "The origin: a kernel, a series of patches, a file.")
      .def_property_readonly(
          "kernel", [](const PolicyInfo& of) { return text(of.kernel); },
          "The kernel whose other rules apply, apart from the ladder.")
      .def_property_readonly(
          "verified", [](const PolicyInfo& of) { return text(of.verified); },
          "The kernels whose decisions equal those of the policy, as comparisons showed; may be "
          "empty.")
      .def_readonly("rungs", &PolicyInfo::rungs,
                    "The rungs of the ladder, in the order in which they are tried.")
      .def_readonly("tunables", &PolicyInfo::tunables, "The tunables that the policy reads.")
      .def("__repr__", [](const PolicyInfo& of) { return text("<policy " + of.name + ">"); });
  module.def("policies", policies, "All policies of the library.");
  module.def(
      "find_policy", [](const std::string& name) { return must(find_policy(name)); },
      "Finds the policy with a name or alias.");
  py::class_<OwnRung>(module, "OwnRung", "A Python policy's description of its own rung.")
      .def_readwrite("criterion", &OwnRung::criterion)
      .def_readwrite("meaning", &OwnRung::meaning)
      .def_readwrite("scan", &OwnRung::scan)
      .def_readwrite("lengths", &OwnRung::lengths)
      .def_readwrite("fast", &OwnRung::fast)
      .def_readwrite("striped", &OwnRung::striped)
      .def_readwrite("methods", &OwnRung::methods);
  module.def(
      "own_rung", [] { return OwnRung(); }, "Makes an empty description.");
  py::class_<Registered>(module, "RegisteredPolicy", "A Python policy that the library knows.")
      .def_property_readonly("name", &Registered::name,
                             "The name by which the library knows the policy.");
  module.def(
      "register_policy",
      [](py::handle policy, const std::string& name, const std::string& summary,
         const std::string& source, const std::string& kernel,
         const std::vector<std::pair<std::string, std::string>>& ladder, const OwnRung& own) {
        return std::make_unique<Registered>(policy, name, summary, source, kernel, ladder, own);
      },
      "Registers the policy in the library until the returned object is destroyed.");
}

}  // namespace e4replay::python
