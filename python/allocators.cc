// SPDX-License-Identifier: GPL-2.0-or-later
#include <pybind11/stl.h>

#include <e4replay/allocator.h>

#include "arrays.h"
#include "calls.h"
#include "decisions.h"
#include "module.h"

namespace e4replay::python {
namespace {

// Owns the Allocator of a Python object. The Allocator may be closed, or busy in another call.
// Keeps the allocator's Python policy alive.
class Owner {
 public:
  Owner(Allocator allocator, std::uint32_t groups, py::object policy)
      : allocator_(std::move(allocator)), groups_(groups), policy_(std::move(policy)) {}

  void close() {
    const Busy busy(at_work_, kWhat);
    allocator_.reset();
    policy_ = py::none();
  }

  // Returns the result of `work`, which runs without the interpreter's lock. An exception of a
  // Python policy takes precedence.
  template <class Work>
  auto ask(Work work) {
    const Busy busy(at_work_, kWhat);
    if (!allocator_) raise("the allocator is closed");
    std::optional<std::invoke_result_t<Work, Allocator&>> out;
    Call call;
    call.here([&] { out.emplace(work(*allocator_)); });
    return *std::move(out);
  }

  template <class T, class Read>
  py::memoryview map(Read read) {
    return view(ask([&](Allocator& allocator) {
      std::vector<T> out;
      for (std::uint32_t group = 0; group < groups_; ++group)
        if (const Result<GroupState> state = allocator.group(group)) out.push_back(read(*state));
      return out;
    }));
  }

 private:
  static constexpr const char* kWhat = "the allocator";
  std::optional<Allocator> allocator_;
  std::uint32_t groups_;
  py::object policy_;
  bool at_work_ = false;
};

template <class From>
std::unique_ptr<Owner> create(const From& from, std::uint32_t groups, const std::string& policy,
                              const std::vector<std::string>& settings, bool loaded,
                              py::object kept) {
  return std::make_unique<Owner>(long_call([&](const Listener&) {
                                   return Allocator::create(from, {policy, settings, loaded});
                                 }),
                                 groups, std::move(kept));
}

DecisionRow allocate(Owner& owner, const Request& request) {
  const Decision decision =
      must(owner.ask([&](Allocator& allocator) { return allocator.allocate(request); }));
  DecisionRow out = row_of(decision);
  out.ino = request.ino;
  out.logical = request.logical;
  out.asked = request.len;
  return out;
}

// Like ask(), for work without a result.
template <class Work>
void tell(Owner& owner, Work work) {
  owner.ask([&](Allocator& allocator) {
    work(allocator);
    return true;
  });
}

py::dict counters(Owner& owner) {
  py::dict out;
  for (const Counter& counter : owner.ask([](Allocator& of) { return of.counters(); }))
    out[text(counter.name)] = counter.value;
  return out;
}

void define_states(py::module_& module) {
  py::class_<GroupState>(module, "GroupState",
                         "A group as the allocator knows it. Counts are in clusters.")
      .def_readonly("free_clusters", &GroupState::free_clusters,
                    "Free clusters. Preallocated clusters are not free.")
      .def_readonly("free_runs", &GroupState::free_runs,
                    "Runs of free clusters; 0 if the group is not loaded.")
      .def_readonly("largest_order", &GroupState::largest_order,
                    "The order of the largest free chunk; -1 if the group is full or not loaded.")
      .def_readonly("loaded", &GroupState::loaded, "Whether the group's buddy is in memory.")
      .def_readonly("damaged", &GroupState::damaged,
                    "Whether the group is damaged, so that nothing may be allocated in it.")
      .def("__repr__",
           repr_of({"free_clusters", "free_runs", "largest_order", "loaded", "damaged"}));
  module.def(
      "request", [] { return Request(); }, "Makes an empty request.");
  py::class_<Request>(module, "Request", "The arguments of Allocator.allocate().")
      .def_readwrite("ino", &Request::ino)
      .def_readwrite("len", &Request::len)
      .def_readwrite("logical", &Request::logical)
      .def_readwrite("goal", &Request::goal)
      .def_readwrite("file_size", &Request::file_size)
      .def_readwrite("open_for_write", &Request::open_for_write)
      .def_readwrite("flags", &Request::flags)
      .def_readwrite("cpu", &Request::cpu)
      .def_readwrite("left_block", &Request::left_block)
      .def_readwrite("right_block", &Request::right_block)
      .def_readwrite("left_logical", &Request::left_logical)
      .def_readwrite("right_logical", &Request::right_logical);
}

// Methods that change the state.
void define_changes(py::class_<Owner>& owner) {
  owner.def("allocate", allocate)
      .def("free",
           [](Owner& of, std::uint64_t first, std::uint64_t count, bool file_data) {
             must(of.ask([&](Allocator& a) { return a.free(first, count, file_data); }));
           })
      .def("commit", [](Owner& of) { tell(of, [](Allocator& a) { a.commit(); }); })
      .def("discard",
           [](Owner& of, std::uint64_t ino, std::uint32_t needed) {
             tell(of, [&](Allocator& a) { a.discard(ino, needed); });
           })
      .def("make_inode",
           [](Owner& of, std::uint64_t ino) { tell(of, [&](Allocator& a) { a.make_inode(ino); }); })
      .def("drop_inode",
           [](Owner& of, std::uint64_t ino) { tell(of, [&](Allocator& a) { a.drop_inode(ino); }); })
      .def("close", &Owner::close);
}

void define_views(py::class_<Owner>& owner) {
  owner
      .def("group",
           [](Owner& of, std::uint32_t number) {
             return must(of.ask([&](Allocator& a) { return a.group(number); }));
           })
      .def("bitmap",
           [](Owner& of, std::uint32_t number) {
             must(of.ask([&](Allocator& a) { return a.group(number); }));
             return view(of.ask([&](Allocator& a) { return a.bitmap(number); }));
           })
      .def("free_clusters",
           [](Owner& of) {
             return of.map<std::uint32_t>([](const GroupState& g) { return g.free_clusters; });
           })
      .def("free_runs",
           [](Owner& of) {
             return of.map<std::uint32_t>([](const GroupState& g) { return g.free_runs; });
           })
      .def("largest_order",
           [](Owner& of) {
             return of.map<std::int32_t>([](const GroupState& g) { return g.largest_order; });
           })
      .def("free_extents",
           [](Owner& of) { return of.ask([](Allocator& a) { return a.free_extents(); }); })
      .def("counters", counters)
      .def("check", [](Owner& of, std::uint64_t limit) {
        return texts(of.ask([&](Allocator& a) { return a.check(limit); }));
      });
}

}  // namespace

void define_allocators(py::module_& module) {
  define_states(module);
  py::class_<Owner> owner(module, "Allocator", "The core of e4replay.Allocator.");
  owner
      .def_static("of_image",
                  [](const Image& image, const std::string& policy,
                     const std::vector<std::string>& settings, bool loaded, py::object kept) {
                    return create(image, image.file_system().groups, policy, settings, loaded,
                                  std::move(kept));
                  })
      .def_static("of_recording",
                  [](const Recording& recording, const std::string& policy,
                     const std::vector<std::string>& settings, bool loaded, py::object kept) {
                    return create(recording, recording.image().file_system().groups, policy,
                                  settings, loaded, std::move(kept));
                  });
  define_changes(owner);
  define_views(owner);
}

}  // namespace e4replay::python
