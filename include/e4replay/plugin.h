// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <e4replay/criterion.h>
#include <e4replay/export.h>

// A policy in a shared object. It needs only this header and no library:
//   c++ -std=c++20 -O2 -shared -fPIC roomy.cc $(pkg-config --cflags e4replay) -o roomy.so
//   e4replay replay run.e4c -p legacy,./roomy.so
// docs/adding-a-policy.md has an example. The program that opens the file passes it a table of
// functions (Host), which the functions below call. The program refuses a file whose kInterface
// differs from its own.

namespace e4r::allocator {
struct Search;
}
namespace e4r::state {
struct Group;
}

// Hidden visibility gives each plugin its own copy of these functions and of `host`.
#pragma GCC visibility push(hidden)
namespace e4replay::plugin {

// The version of this interface. Changes whenever previously compiled files would no longer work.
inline constexpr std::uint32_t kInterface = 1;

// An allocation request on its way through the ladder, and a block group. Both belong to the
// allocator; the functions below read them. Valid during the call that receives them.
using Search = e4r::allocator::Search;
using Group = e4r::state::Group;

// How a rung searches a group's free space.
enum class Scan : std::uint8_t {
  chunks,  // the first free buddy chunk of at least the goal's order
  // every free extent in turn; if `striped` and the goal is a multiple of the stripe, aligned
  // stripes
  extents,
};

// Which free extents a scan examines. The scan joins adjacent free buddy chunks into one extent
// until it covers the goal.
enum class Lengths : std::uint8_t {
  all,
  long_ones,  // extents in runs no shorter than the goal
  long_runs,  // only the first extent of each such run
};

// One criterion of a ladder. It chooses the next group, decides whether the group is good enough
// and how to search it, and defines what happens when no group is left. All functions must be pure
// except `choose` and `leave`, which may change the search's goal length and flags. Several threads
// call them at once, for different searches. They must not throw.
struct Rung {
  // Identifies the rung in counts and reports: either a new name, made of letters, digits, '.', '_'
  // and '-', or, if `name` is null, one of the library's criteria. It must be unique in the ladder.
  // Rungs of several files with the same name share one row of a report. A process can have at most
  // four new names.
  const char* name = nullptr;
  Criterion criterion = Criterion::unknown;
  const char* meaning = "";  // one human-readable line
  // A fast rung skips groups whose buddy is not loaded.
  bool fast = false;
  Scan scan = Scan::extents;
  bool striped = false;  // may search for aligned stripes
  Lengths lengths = Lengths::all;
  // Whether this search tries the rung at all.
  bool (*applies)(const Search&) = nullptr;
  // A group with fewer free clusters is rejected without further checks.
  std::uint32_t (*least_free)(const Search&) = nullptr;
  // Whether a loaded group is good enough.
  bool (*good)(const Search&, const Group&) = nullptr;
  // Returns the next group from the order lists, or nullopt when the rung is done. A group that is
  // not is_usable() ends the replay with an error. If null, the rung walks from group to group, as
  // every rung does on a file system without lists.
  std::optional<std::uint32_t> (*choose)(Search&) = nullptr;
  // Called when the rung found nothing. May be null.
  void (*leave)(Search&) = nullptr;
  const char* tunable = nullptr;  // name of a tunable that only this rung reads; may be null
  // Set only in rungs copied from the library: this function defines how the rung chooses groups on
  // kernels that keep sets of groups instead of lists. If null, the rung walks from group to group
  // on such kernels.
  void (*classes)() = nullptr;
};

// A tunable that the policy adds. `--set NAME=VALUE` sets it and tunable() reads it. A process can
// have at most eight such tunables. Two files may add the same tunable if all four members are
// equal.
struct Tunable {
  const char* name = nullptr;     // lower-case letters, digits and '_'
  const char* meaning = nullptr;  // one human-readable line
  std::uint64_t fallback = 0;     // the default
  std::uint64_t max = 0;          // the largest accepted value
};

// A ladder, the kernel whose other rules apply, and descriptions. Everything that it points to must
// remain valid until the program ends.
struct Policy {
  const char* name = "";     // letters, digits, '.', '_' and '-'; not the name of another policy
  const char* summary = "";  // one line
  const char* source = "";   // where its behaviour is defined
  // The kernel whose other rules apply (read-ahead, stripes, streams, preallocations), given as the
  // name of a built-in policy, such as "legacy" or "linux-7.3".
  const char* kernel = "legacy";
  const Rung* ladder = nullptr;
  std::size_t rungs = 0;
  const Tunable* tunables = nullptr;
  std::size_t tunable_count = 0;
};

// The table of functions that the program passes to the file. The file must not call them before it
// has received the table.
struct Host {
  std::uint32_t interface;

  // Copies a rung of the library, found by its criterion in the ladder of `policy`, to `out`.
  // Returns false if the ladder has no such rung.
  bool (*rung)(const char* policy, Criterion criterion, Rung* out);

  // Functions for a search. Lengths are in clusters.
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

  // Functions for the file system.
  std::uint32_t (*groups)(const Search&);
  std::uint32_t (*orders)(const Search&);
  std::uint32_t (*clusters_per_group)(const Search&);
  const Group* (*group)(const Search&, std::uint32_t number);
  // The order lists: groups by the order of their largest free chunk, and by the order of their
  // average free run. Each function returns the first group of a list, or the one after a given
  // group; null at the end.
  const Group* (*first_by_largest)(const Search&, std::uint32_t order);
  const Group* (*next_by_largest)(const Search&, std::uint32_t order, const Group&);
  const Group* (*first_by_average)(const Search&, std::uint32_t order);
  const Group* (*next_by_average)(const Search&, std::uint32_t order, const Group&);

  // Functions for a group. Sizes are in clusters.
  std::uint32_t (*number)(const Group&);
  std::uint32_t (*free_clusters)(const Group&);
  std::uint32_t (*free_runs)(const Group&);
  std::int32_t (*largest_order)(const Group&);
  bool (*is_loaded)(const Group&);
  bool (*is_damaged)(const Group&);
};

// The program's table, set before the function that E4REPLAY_POLICY defines runs.
inline const Host* host = nullptr;

// ---- About a search.

// The number of requested clusters.
[[nodiscard]] inline std::uint32_t asked_len(const Search& search) {
  return host->asked_len(search);
}
// The number of clusters that the search looks for. A rung may have reduced it.
[[nodiscard]] inline std::uint32_t goal_len(const Search& search) {
  return host->goal_len(search);
}
// The goal's length as normalisation set it.
[[nodiscard]] inline std::uint32_t full_goal_len(const Search& search) {
  return host->full_goal_len(search);
}
// Sets the goal's length, 1 to full_goal_len(). Any other value ends the replay with an error.
inline void set_goal_len(Search& search, std::uint32_t len) {
  host->set_goal_len(search, len);
}
// Resets a shortened goal to the length that normalisation set.
inline void restore_goal(Search& search) {
  set_goal_len(search, full_goal_len(search));
}
[[nodiscard]] inline std::uint32_t goal_group(const Search& search) {
  return host->goal_group(search);
}
// The order of the goal's length if that length is a power of two for which searches use the buddy
// (mb_order2_req); otherwise 0.
[[nodiscard]] inline std::uint32_t goal_order(const Search& search) {
  return host->goal_order(search);
}
// The stripe in clusters; 0 if the file system has no stripe.
[[nodiscard]] inline std::uint64_t stripe(const Search& search) {
  return host->stripe(search);
}
// The flags of the request and the search, with the kernel's values (EXT4_MB_*).
[[nodiscard]] inline std::uint32_t flags(const Search& search) {
  return host->flags(search);
}
// Whether the file system keeps groups on lists by order.
[[nodiscard]] inline bool has_lists(const Search& search) {
  return host->has_lists(search);
}
// Whether a rung may take the group from the lists for this file.
[[nodiscard]] inline bool is_usable(const Search& search, std::uint32_t group) {
  return host->is_usable(search, group);
}
// The value of a tunable; 0 if no tunable has that name.
[[nodiscard]] inline std::uint64_t tunable(const Search& search, const char* name) {
  return host->tunable(search, name);
}
// Adds one to the number of considered groups in mb_stats. `choose` must call it for each group
// that it looks at.
inline void count_group(Search& search) {
  host->count_group(search);
}

// ---- About the file system.

[[nodiscard]] inline std::uint32_t groups(const Search& search) {
  return host->groups(search);
}
// The number of buddy orders, which begin at 0.
[[nodiscard]] inline std::uint32_t orders(const Search& search) {
  return host->orders(search);
}
[[nodiscard]] inline std::uint32_t clusters_per_group(const Search& search) {
  return host->clusters_per_group(search);
}
// The group with that number, or the first group if `number` is not below groups().
[[nodiscard]] inline const Group& group(const Search& search, std::uint32_t number) {
  return *host->group(search, number);
}

// The groups on one order list, in the list's order: `for (const Group& group : by_largest(search,
// 5))`.
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
// Groups whose largest free chunk has this order, which must be below orders().
[[nodiscard]] inline List by_largest(const Search& search, std::uint32_t order) {
  return {search, order, host->first_by_largest, host->next_by_largest};
}
// Groups whose average free run has 2^(order + 1) to 2^(order + 2) - 1 clusters. List 0 also holds
// the groups with a shorter average, and the last list those with a longer one.
[[nodiscard]] inline List by_average(const Search& search, std::uint32_t order) {
  return {search, order, host->first_by_average, host->next_by_average};
}

// ---- About a group. Only `free_clusters` is meaningful before the group is loaded.

[[nodiscard]] inline std::uint32_t number(const Group& group) {
  return host->number(group);
}
[[nodiscard]] inline std::uint32_t free_clusters(const Group& group) {
  return host->free_clusters(group);
}
[[nodiscard]] inline std::uint32_t free_runs(const Group& group) {
  return host->free_runs(group);
}
// The order of the group's largest free chunk; -1 if no chunk is free.
[[nodiscard]] inline std::int32_t largest_order(const Group& group) {
  return host->largest_order(group);
}
[[nodiscard]] inline bool is_loaded(const Group& group) {
  return host->is_loaded(group);
}
[[nodiscard]] inline bool is_damaged(const Group& group) {
  return host->is_damaged(group);
}

// ---- Rungs of the library, to be used unchanged or with changed fields. Call these only inside
// the function that E4REPLAY_POLICY defines, because they need `host`.

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
// The rungs of Linux 6.12 that differ from 6.1: a CR1 that skips short extents, and the rung that
// trims the goal.
[[nodiscard]] inline Rung goal_fast() {
  return rung("linux-6.12", Criterion::cr1);
}
[[nodiscard]] inline Rung best_avail() {
  return rung("linux-6.12", Criterion::best_avail);
}

// Functions that the library's rungs use.
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
// CR2 and CR3: the group is sound and has free clusters.
[[nodiscard]] inline bool good_any(const Search&, const Group& group) {
  return !is_damaged(group) && free_clusters(group) > 0 && free_runs(group) > 0;
}
// CR1: the group's average free run is at least as long as the goal.
[[nodiscard]] inline bool good_average(const Search& search, const Group& group) {
  return good_any(search, group) && free_clusters(group) / free_runs(group) >= goal_len(search);
}

}  // namespace e4replay::plugin
#pragma GCC visibility pop

// Precedes the body of the function that returns the Policy. Use it once per file.
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
