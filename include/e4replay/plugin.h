// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <e4replay/criterion.h>
#include <e4replay/export.h>

// A policy in a file of its own, made of this header alone and of no library:
//   c++ -std=c++20 -O2 -shared -fPIC roomy.cc $(pkg-config --cflags e4replay) -o roomy.so
//   e4replay replay run.e4c -p legacy,./roomy.so
// docs/adding-a-policy.md walks through one. The program that opens the file gives it a table of
// functions (Host), which the functions below call. What decides between two programs is
// kInterface: a file that was made for another one is refused.

namespace e4r::allocator {
struct Search;
}
namespace e4r::state {
struct Group;
}

// Each file has these functions for itself.
#pragma GCC visibility push(hidden)
namespace e4replay::plugin {

// Changes whenever a file that was compiled before would not work any more.
inline constexpr std::uint32_t kInterface = 1;

// One allocation request on its way through the ladder, and a group of blocks. They are the
// allocator's own; the functions below tell of them. Good during the call that they are given to.
using Search = e4r::allocator::Search;
using Group = e4r::state::Group;

// How a rung looks at a group's free space.
enum class Scan : std::uint8_t {
  chunks,   // the first free buddy chunk of at least the goal's order
  extents,  // every free extent in turn; by stripe when the goal is a multiple of one (`striped`)
};

// Which extents a scan examines. An extent is as many buddy chunks as cover the goal.
enum class Lengths : std::uint8_t {
  all,
  long_ones,  // runs shorter than the goal are stepped over
  long_runs,  // the same, and of a run the start alone is examined
};

// One criterion of a ladder: which group next, whether it is good enough, how to search it, what
// to do when there is none. Functions must be pure but for `choose` and `leave`, which may change
// the search's goal length and flags. They are called in several threads at once, for different
// searches, and must not throw.
struct Rung {
  // Under which it is counted and reported: the name of a rung of the file's own, of letters,
  // digits, '.', '_' and '-'; or, without a name, a criterion of the library. No two rungs of a
  // ladder have the same. Rungs of several files that have the same name share a row of a report.
  // A process has four such names at most.
  const char* name = nullptr;
  Criterion criterion = Criterion::unknown;
  const char* meaning = "";  // one line for people
  // Below this rung nothing is worth reading a bitmap for: groups whose buddy is not loaded are
  // passed over.
  bool fast = false;
  Scan scan = Scan::extents;
  bool striped = false;  // may search by stripe
  Lengths lengths = Lengths::all;
  // Whether the rung is tried at all for this search.
  bool (*applies)(const Search&) = nullptr;
  // A group with fewer free clusters is refused before anything else is looked at.
  std::uint32_t (*least_free)(const Search&) = nullptr;
  // Whether a loaded group will do.
  bool (*good)(const Search&, const Group&) = nullptr;
  // The next group from the order lists, one that is_usable(), or none: the rung is done. Any other
  // group ends the replay with an error. Null: the rung walks from group to group, as it does on a
  // file system without lists.
  std::optional<std::uint32_t> (*choose)(Search&) = nullptr;
  // The rung found nothing. May be null.
  void (*leave)(Search&) = nullptr;
  const char* tunable = nullptr;  // the name of the one that is this rung's alone; null: none
  // Of a rung that was taken from the table of rungs: what it asks of kernels that keep sets of
  // groups instead of lists. Null: it walks there.
  void (*classes)() = nullptr;
};

// A tunable of the policy's own. `--set NAME=VALUE` sets it, tunable() reads it. A process has
// eight at most. Two files may bring the same one: then all four members are the same.
struct Tunable {
  const char* name = nullptr;     // lower-case letters, digits and '_'
  const char* meaning = nullptr;  // one line for people
  std::uint64_t fallback = 0;     // the default
  std::uint64_t max = 0;          // largest value accepted
};

// A ladder on a kernel, and what people are told of it. All of it must last as long as the
// program.
struct Policy {
  const char* name = "";     // letters, digits, '.', '_' and '-'; no name of a policy that there is
  const char* summary = "";  // one line
  const char* source = "";   // where its behaviour is defined
  // Whose other rules it has: read-ahead, stripes, streams, preallocations. The name of a policy
  // of the library ("legacy", "linux-7.3").
  const char* kernel = "legacy";
  const Rung* ladder = nullptr;
  std::size_t rungs = 0;
  const Tunable* tunables = nullptr;
  std::size_t tunable_count = 0;
};

// What the program gives to the file. Not to be called before it has been given.
struct Host {
  std::uint32_t interface;

  // A rung of the library by its criterion and by the policy whose ladder has it.
  bool (*rung)(const char* policy, Criterion criterion, Rung* out);

  // Of a search; lengths in clusters.
  std::uint32_t (*asked_len)(const Search&);
  std::uint32_t (*goal_len)(const Search&);
  std::uint32_t (*full_goal_len)(const Search&);
  std::uint32_t (*goal_group)(const Search&);
  std::uint32_t (*goal_order)(const Search&);
  std::uint64_t (*stripe)(const Search&);
  std::uint32_t (*flags)(const Search&);
  bool (*has_lists)(const Search&);
  bool (*is_usable)(const Search&, std::uint32_t group);
  std::uint64_t (*tunable)(const Search&, const char* name);
  void (*set_goal_len)(Search&, std::uint32_t len);
  void (*count_group)(Search&);

  // Of the file system.
  std::uint32_t (*groups)(const Search&);
  std::uint32_t (*orders)(const Search&);
  std::uint32_t (*clusters_per_group)(const Search&);
  const Group* (*group)(const Search&, std::uint32_t number);
  // The order lists: of the groups whose largest free chunk is of the order, and of those whose
  // average free run is as long. The first group, and the one behind another; null: there is
  // none.
  const Group* (*first_by_largest)(const Search&, std::uint32_t order);
  const Group* (*next_by_largest)(const Search&, std::uint32_t order, const Group&);
  const Group* (*first_by_average)(const Search&, std::uint32_t order);
  const Group* (*next_by_average)(const Search&, std::uint32_t order, const Group&);

  // Of a group; clusters.
  std::uint32_t (*number)(const Group&);
  std::uint32_t (*free_clusters)(const Group&);
  std::uint32_t (*free_runs)(const Group&);
  std::int32_t (*largest_order)(const Group&);
  bool (*is_loaded)(const Group&);
  bool (*is_damaged)(const Group&);
};

// The program's. Set before the policy is made.
inline const Host* host = nullptr;

// ---- A search.

// Clusters that were asked for.
[[nodiscard]] inline std::uint32_t asked_len(const Search& search) {
  return host->asked_len(search);
}
// Clusters that are searched for. A rung may have shortened it.
[[nodiscard]] inline std::uint32_t goal_len(const Search& search) {
  return host->goal_len(search);
}
// The same as normalisation set it.
[[nodiscard]] inline std::uint32_t full_goal_len(const Search& search) {
  return host->full_goal_len(search);
}
// 1 to full_goal_len(). Any other length ends the replay with an error.
inline void set_goal_len(Search& search, std::uint32_t len) {
  host->set_goal_len(search, len);
}
// Puts a shortened goal back to what normalisation made it.
inline void restore_goal(Search& search) {
  set_goal_len(search, full_goal_len(search));
}
// The group of the goal.
[[nodiscard]] inline std::uint32_t goal_group(const Search& search) {
  return host->goal_group(search);
}
// The order of a goal that is a power of two and that the buddy can serve, or 0.
[[nodiscard]] inline std::uint32_t goal_order(const Search& search) {
  return host->goal_order(search);
}
// Clusters; 0: none.
[[nodiscard]] inline std::uint64_t stripe(const Search& search) {
  return host->stripe(search);
}
// As the kernel numbers them (EXT4_MB_*).
[[nodiscard]] inline std::uint32_t flags(const Search& search) {
  return host->flags(search);
}
// Whether the file system keeps groups on lists by order.
[[nodiscard]] inline bool has_lists(const Search& search) {
  return host->has_lists(search);
}
// Whether the lists may give the group to the file.
[[nodiscard]] inline bool is_usable(const Search& search, std::uint32_t group) {
  return host->is_usable(search, group);
}
// The value of a tunable by its name; 0 when there is none of that name.
[[nodiscard]] inline std::uint64_t tunable(const Search& search, const char* name) {
  return host->tunable(search, name);
}
// `choose` counts each group that it looks at, as mb_stats does.
inline void count_group(Search& search) {
  host->count_group(search);
}

// ---- The file system.

[[nodiscard]] inline std::uint32_t groups(const Search& search) {
  return host->groups(search);
}
// Buddy orders 0 to orders() - 1.
[[nodiscard]] inline std::uint32_t orders(const Search& search) {
  return host->orders(search);
}
[[nodiscard]] inline std::uint32_t clusters_per_group(const Search& search) {
  return host->clusters_per_group(search);
}
// `number` is below groups(); another number gives the first group.
[[nodiscard]] inline const Group& group(const Search& search, std::uint32_t number) {
  return *host->group(search, number);
}

// The groups on one order list, in its order: `for (const Group& group : by_largest(search, 5))`.
class List {
 public:
  using First = const Group* (*)(const Search&, std::uint32_t);
  using Next = const Group* (*)(const Search&, std::uint32_t, const Group&);
  class Iterator {
   public:
    Iterator(const List& list, const Group* at) : list_(list), at_(at) {}
    const Group& operator*() const { return *at_; }
    Iterator& operator++() {
      at_ = list_.next_(list_.search_, list_.order_, *at_);
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const List& list_;
    const Group* at_;
  };

  List(const Search& search, std::uint32_t order, First first, Next next)
      : search_(search), order_(order), first_(first), next_(next) {}
  [[nodiscard]] Iterator begin() const { return {*this, first_(search_, order_)}; }
  [[nodiscard]] Iterator end() const { return {*this, nullptr}; }

 private:
  const Search& search_;
  std::uint32_t order_;
  First first_;
  Next next_;
};
// Groups whose largest free chunk is of that order; below orders().
[[nodiscard]] inline List by_largest(const Search& search, std::uint32_t order) {
  return {search, order, host->first_by_largest, host->next_by_largest};
}
// Groups whose average free run has 2^order to 2^(order + 1) - 1 clusters.
[[nodiscard]] inline List by_average(const Search& search, std::uint32_t order) {
  return {search, order, host->first_by_average, host->next_by_average};
}

// ---- A group. What is not loaded has `free_clusters` alone.

[[nodiscard]] inline std::uint32_t number(const Group& group) {
  return host->number(group);
}
[[nodiscard]] inline std::uint32_t free_clusters(const Group& group) {
  return host->free_clusters(group);
}
[[nodiscard]] inline std::uint32_t free_runs(const Group& group) {
  return host->free_runs(group);
}
// -1: no free chunk.
[[nodiscard]] inline std::int32_t largest_order(const Group& group) {
  return host->largest_order(group);
}
[[nodiscard]] inline bool is_loaded(const Group& group) {
  return host->is_loaded(group);
}
[[nodiscard]] inline bool is_damaged(const Group& group) {
  return host->is_damaged(group);
}

// ---- Rungs of the library, to be taken as they are or with another field. For use inside the
// function of E4REPLAY_POLICY.

[[nodiscard]] inline Rung rung(const char* policy, Criterion criterion) {
  Rung out;
  host->rung(policy, criterion, &out);
  return out;
}
// The criteria of Linux 6.1.
[[nodiscard]] inline Rung cr0() {
  return rung("legacy", Criterion::cr0);
}
[[nodiscard]] inline Rung cr1() {
  return rung("legacy", Criterion::cr1);
}
[[nodiscard]] inline Rung cr2() {
  return rung("legacy", Criterion::cr2);
}
[[nodiscard]] inline Rung cr3() {
  return rung("legacy", Criterion::cr3);
}
// Those of 6.12 that differ: CR1 that steps over short extents, and the trimmed goal.
[[nodiscard]] inline Rung goal_fast() {
  return rung("linux-6.12", Criterion::cr1);
}
[[nodiscard]] inline Rung best_avail() {
  return rung("linux-6.12", Criterion::best_avail);
}

// Questions that rungs of the library ask.
[[nodiscard]] inline bool always(const Search&) {
  return true;
}
[[nodiscard]] inline std::uint32_t goal_clusters(const Search& search) {
  const std::uint32_t len = goal_len(search);
  return len == 0 ? 1 : len;
}
[[nodiscard]] inline std::uint32_t one_cluster(const Search&) {
  return 1;
}
// CR2 and CR3: the group is sound and has something free.
[[nodiscard]] inline bool good_any(const Search&, const Group& group) {
  return !is_damaged(group) && free_clusters(group) > 0 && free_runs(group) > 0;
}
// CR1: its average free run is as long as the goal.
[[nodiscard]] inline bool good_average(const Search& search, const Group& group) {
  return good_any(search, group) && free_clusters(group) / free_runs(group) >= goal_len(search);
}

}  // namespace e4replay::plugin
#pragma GCC visibility pop

// Followed by the body of a function that returns the Policy: once in a file.
#define E4REPLAY_POLICY                                                                   \
  static e4replay::plugin::Policy e4replay_make_policy();                                 \
  extern "C" E4REPLAY_API std::uint32_t e4replay_plugin_interface() {                     \
    return e4replay::plugin::kInterface;                                                  \
  }                                                                                       \
  extern "C" E4REPLAY_API void e4replay_plugin_policy(const e4replay::plugin::Host* host, \
                                                      e4replay::plugin::Policy* policy) { \
    e4replay::plugin::host = host;                                                        \
    *policy = e4replay_make_policy();                                                     \
  }                                                                                       \
  static e4replay::plugin::Policy e4replay_make_policy()
