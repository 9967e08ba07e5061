// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocator/allocator.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/group_search.h"
#include "allocator/kernel.h"

namespace e4r::allocator {

using state::Prealloc;
namespace bitmap = state::bitmap;

namespace {

// Flags that only the allocator sets. A request that already has one of them is damaged.
constexpr std::uint32_t kOwnFlags =
    mb::hint_group_alloc | mb::stream_alloc | mb::cr0_optimized | mb::cr1_optimized;

// Returns the number of groups that a request may use. Files without extents can only use groups
// below block 2^32.
std::uint32_t usable_groups(const state::MountedGeometry& geometry) {
  if (geometry.extents) return geometry.groups;
  return std::min<std::uint32_t>(
      geometry.groups, static_cast<std::uint32_t>(kMaxBlockFilePhys / geometry.blocks_per_group));
}

// Sets up the original request: bounds its length and moves its goal into the file system.
void start_search(const state::MountedGeometry& geometry, const Request& request, Search& search) {
  std::uint64_t goal = request.goal;
  if (goal < geometry.first_data_block || goal >= geometry.blocks_count)
    goal = geometry.first_data_block;
  const std::uint32_t cluster_mask = (1u << geometry.cluster_bits) - 1;
  search.orig = {geometry.group_of(goal), geometry.cluster_in_group(goal),
                 std::min(request.len, geometry.clusters_per_group),
                 request.logical & ~cluster_mask};
  search.goal = search.orig;
  search.best.logical = search.orig.logical;
  search.flags = request.flags & ~kOwnFlags;
  search.groups = usable_groups(geometry);
  search.ino = request.ino;
  search.cpu = request.cpu;
  search.loses_best = request.inputs.loses_best;
}

// Copies the request, its inode and its CPU.
void copy_request(const Search& from, Search& to) {
  to.ino = from.ino;
  to.cpu = from.cpu;
  to.orig = from.orig;
  to.flags = from.flags;
  to.groups = from.groups;
  to.extsize = from.extsize;
  to.loses_best = from.loses_best;
  to.continues_from = from.continues_from;
}

// Copies the visible outcome of the search to the decision.
void show(const Search& search, Decision& out) {
  out.orig = search.orig;
  out.goal = search.goal;
  out.goal_len = search.goal_len;
  out.result = out.prealloc ? search.best : search.taken;
  out.found = search.found;
  out.groups_scanned = search.groups_scanned;
  if (!out.prealloc) out.criterion = search.criterion;
  out.flags = search.flags;
  out.tail = search.tail;
  out.broken = search.split_order == 0 ? 0 : 1u << search.split_order;
  out.conflicts = search.conflicts;
}

// Records which guessed inputs could have changed the decision. An input is guessed if the trace
// does not contain it. `out.inputs` holds the inputs that were used.
void note_guesses(const Geometry& geometry, const Tunables& tunables, const Request& request,
                  Decision& out) {
  if (request.inputs_exact || out.prealloc) return;
  const std::uint64_t end = logical_end(geometry, out.orig);
  const bool mode = request.inputs.mode == Mode::unknown && out.inputs.mode != Mode::unknown;
  const bool step = request.inputs.size == SizeStep::unknown &&
                    out.inputs.size != SizeStep::unknown &&
                    size_step(end << geometry.block_bits, geometry) != SizeStep::large;
  out.size_guessed = step || (mode && end <= tunables.mb_stream_req);
  out.writers_guessed = mode && out.inputs.mode != Mode::group;
}

}  // namespace

Allocator::Allocator(state::FsState& state, const Policy& policy, const Tunables& tunables)
    : state_(state),
      policy_(policy),
      tunables_(tunables),
      preallocs_(state_, tunables_, counters_, policy.kernel.preallocs),
      streams_(policy.kernel.stream, state.group_count(), tunables.possible_cpus),
      start_(policy.kernel.start) {}

Decision Allocator::allocate(const Request& request, Guide* guide) {
  constexpr std::uint64_t kSkipsPerDecision = 8;
  skips_left_ = std::min(skips_left_ + kSkipsPerDecision, kMostSkips);
  held_.clear();
  Search search(state_, tunables_, counters_);
  search.observer = observer_;
  search.guide = guide;
  Decision out;
  out.inputs.on_closing_cpu = request.inputs.on_closing_cpu;
  Prealloc* pa = find_prealloc(request, search, out.inputs.mode);
  out.prealloc = pa != nullptr || (search.refused && guide->dictated().prealloc);
  if (pa != nullptr)
    preallocs_.use(search, *pa);
  else if (out.prealloc)
    take_dictated(search);
  else {
    read_stream(request, search);
    out.inputs.size = set_goal(request, search);
    search_space(request, search, pa);
    out.inputs.passed_over = search.passed_over;
    out.inputs.continues_from = search.continues_from;
    out.inputs.loses_best = search.loses_best;
  }
  load_reclaimed();
  out.success = search.status == Search::Status::found;
  if (out.success) {
    state::Group& group = state_.group(search.best.group);
    state_.clear_block_uninit(group.number);
    group.disk_free -= search.best.len;
    out.block = state_.geometry().block_of(search.best.group, search.best.start);
    out.len = search.best.len;
  } else {
    search.best.len = 0;
  }
  if (pa != nullptr) preallocs_.finish(request, search, *pa);
  collect(search);
  preallocs_.trim(request.ino);
  show(search, out);
  if (guide == nullptr) note_guesses(state_.geometry(), tunables_, request, out);
  return out;
}

// Sets the search up, and chooses its mode. Returns the preallocation that serves the request, or
// null.
Prealloc* Allocator::find_prealloc(const Request& request, Search& search, Mode& mode) {
  start_search(state_.geometry(), request, search);
  search.extsize = alignment_of(policy_.kernel.align, tunables_, state_.geometry(), request);
  Prealloc* pa = preallocs_.find_of_inode(request, search);
  mode = choose_mode(request, pa != nullptr, search);
  if (pa == nullptr) pa = preallocs_.find_of_cpu(request, search);
  return keep_if_accepted(search, keep_if_aligned(search, pa));
}

Error Allocator::describe_fault() const {
  const std::string_view rung = mb::criterion_name(fault_.criterion);
  if (fault_.what == Search::Fault::What::no_such_group)
    return error(
        "policy {}: choose() of its rung {} gave group {}, which cannot be searched: give one that "
        "is_usable(), or none",
        policy_.name, rung, fault_.value);
  return error("policy {}: its rung {} set a goal of {} clusters: give 1 to full_goal_len()",
               policy_.name, rung, fault_.value);
}

Decision Allocator::would_find(const Search& search, const Normalized& goal) const {
  Counters ignored;
  Search trial(state_, tunables_, ignored);
  copy_request(search, trial);
  trial.goal = goal.goal;
  trial.goal_len = goal.goal.len;
  trial.flags |= goal.flags;
  return try_search(trial);
}

Decision Allocator::try_search(Search& trial) const {
  trial.trial = true;
  GroupSearch(trial, policy_).run(streams_, start_);
  state_.unload(std::exchange(trial.loaded_for_trial, {}));
  Decision out;
  out.success = trial.status == Search::Status::found;
  show(trial, out);
  return out;
}

void Allocator::copy_from(const Allocator& other) {
  counters_ = other.counters_;
  streams_ = other.streams_;
  start_ = other.start_;
  fault_ = other.fault_;
  reclaimed_ = other.reclaimed_;
  skips_left_ = other.skips_left_;
}

std::optional<bool> Allocator::would_decide_as_dictated(const Request& request, Guide& guide,
                                                        bool thorough) {
  Counters ignored;
  Search trial(state_, tunables_, ignored);
  trial.guide = &guide;
  Mode mode = Mode::unknown;
  const Prealloc* pa = find_prealloc(request, trial, mode);
  if (trial.refused) return false;
  if (pa != nullptr) return true;
  read_stream(request, trial);
  (void)set_goal(request, trial);
  trial.guide = nullptr;
  const Search begun = trial;
  const Decision found = try_search(trial);
  if (guide.confirms(found)) return true;
  if (policy_.kernel.groups.tries_lock && found.success) {
    const std::uint32_t group = found.result.group;
    const PassedOver passed = thorough ? find_any_passed(begun, group, guide, trial)
                                       : find_passed_over(begun, group, guide, trial);
    if (!passed.empty()) return true;
  }
  return trial.unsure ? std::nullopt : std::optional(false);
}

// Searches from the start again, and skips these visits.
Decision Allocator::try_skipping(const Search& begun, const PassedOver& passed,
                                 Search& trial) const {
  trial.restart(begun);
  trial.passed_over = passed;
  return try_search(trial);
}

// Finds the visits at which the search must skip a group, as if another CPU held its lock, to reach
// an outcome that the guide confirms. The search skips one more visit of `group`, then of the group
// of each further outcome that the guide does not confirm. The lock may be free again at a later
// visit. Returns an empty set if the guide confirms no outcome. `begun` is the search at its start;
// `trial` has the same request.
PassedOver Allocator::find_passed_over(const Search& begun, std::uint32_t group, Guide& guide,
                                       Search& trial, std::vector<PassedOver>* tried) const {
  PassedOver passed = begun.passed_over;
  for (std::size_t tries = 0; tries < PassedOver::kMost && passed.add(group); ++tries) {
    if (tried != nullptr) tried->push_back(passed);
    const Decision found = try_skipping(begun, passed, trial);
    if (guide.confirms(found)) return passed;
    if (!found.success) break;
    group = found.result.group;
  }
  return {};
}

// Like find_passed_over(), but skips visits at which the search scanned a group without taking an
// extent of it. Only the counts of extents and groups show such a skip. Searches that walk the same
// groups at the same time hold each other up several times, so several visits are skipped. Tries
// small sets of visits first, as long as the budget lasts.
PassedOver Allocator::find_passed_visits(const Search& begun, Guide& guide, Search& trial) {
  constexpr std::size_t kMostTries = 256;
  struct Set {
    PassedOver passed;
    std::size_t from = 0;  // a larger set may skip visits from this one on
  };
  std::deque<Set> sets = {{begun.passed_over}};
  for (std::size_t tries = 0; tries < kMostTries && !sets.empty() && skips_left_ > 0; ++tries) {
    const Set set = sets.front();
    sets.pop_front();
    --skips_left_;
    std::vector<Visit> visits;
    trial.visits = &visits;
    const Decision found = try_skipping(begun, set.passed, trial);
    trial.visits = nullptr;
    if (tries > 0 && guide.confirms(found)) return set.passed;
    std::unordered_map<std::uint32_t, unsigned> count;  // of visits, by group
    for (std::size_t i = 0; i < visits.size() && sets.size() < kMostTries; ++i) {
      const unsigned number = count[visits[i].group]++;
      if (i < set.from || !visits[i].scanned) continue;
      Set larger = {set.passed, i + 1};
      if (larger.passed.add(visits[i].group, number)) sets.push_back(larger);
    }
  }
  return {};
}

// Calls find_passed_over(), then find_passed_visits() for each set of visits that it has tried.
PassedOver Allocator::find_any_passed(const Search& begun, std::uint32_t group, Guide& guide,
                                      Search& trial) {
  std::vector<PassedOver> tried = {begun.passed_over};
  PassedOver passed = find_passed_over(begun, group, guide, trial, &tried);
  for (std::size_t i = 0; i < tried.size() && passed.empty(); ++i) {
    Search from = begun;
    from.passed_over = tried[i];
    passed = find_passed_visits(from, guide, trial);
  }
  return passed;
}

// Decides whether to serve the request for the file or for the CPU's locality group. `has_prealloc`
// says whether a preallocation of the inode serves the request.
Mode Allocator::choose_mode(const Request& request, bool has_prealloc, Search& search) {
  if ((search.flags & mb::hint_data) == 0 || (search.flags & mb::hint_goal_only) != 0)
    return Mode::unknown;
  const Geometry& geometry = state_.geometry();
  const bool grouped = policy_.kernel.preallocs.groups_closed_files;
  Mode mode = mode_as_recorded(request.inputs.mode, geometry, tunables_, search.orig, grouped);
  if (request.inputs_exact || mode == Mode::unknown) {
    mode = mode_by_size(geometry, tunables_, search.orig, request, grouped);
    if (search.guide != nullptr && !request.inputs_exact)
      mode = search.guide->mode(mode, has_prealloc);
  }
  if (mode == Mode::group && search.extsize != 0) {
    Tunables without = tunables_;
    without.mb_group_prealloc = 0;
    mode = mode_by_size(geometry, without, search.orig, request, grouped);
  }
  if (mode == Mode::group && tunables_.mb_group_prealloc == 0) mode = Mode::stream;
  if (mode == Mode::group) search.flags |= mb::hint_group_alloc;
  if (mode == Mode::stream) search.flags |= mb::stream_alloc;
  if (mode == Mode::noprealloc) search.flags |= mb::hint_noprealloc;
  return mode;
}

// Normalises the request. Returns the size step that it used, or `unknown` if the size does not
// matter.
SizeStep Allocator::set_goal(const Request& request, Search& search) {
  if (search.extsize != 0) search.goal.len = aligned_len(search);
  search.goal_len = search.goal.len;
  const bool plain = (search.flags & mb::hint_data) == 0 ||
                     (search.flags & (mb::hint_goal_only | mb::hint_noprealloc)) != 0;
  if (plain) return SizeStep::unknown;
  if ((search.flags & mb::hint_group_alloc) != 0) {
    search.goal.len = static_cast<std::uint32_t>(tunables_.mb_group_prealloc);
    if (policy_.kernel.remembers.of_groups) search.goal_len = search.goal.len;
    return SizeStep::unknown;
  }
  const Geometry& geometry = state_.geometry();
  const state::InodePreallocs* preallocs = state_.find_inode_preallocs(request.ino);
  const std::uint64_t end = logical_end(geometry, search.orig) << geometry.block_bits;
  SizeStep step = request.inputs.size;
  if (request.inputs_exact || step == SizeStep::unknown)
    step = size_step(std::max(end, request.size_hint), geometry);
  if (search.guide != nullptr && !request.inputs_exact)
    step = search.guide->size(search, request, preallocs, step);
  const Normalized n =
      normalize(geometry, search, request, preallocs, step, policy_.kernel.remembers.neighbour);
  search.goal = n.goal;
  search.goal_len = n.goal.len;
  search.flags |= n.flags;
  search.taken = n.lost;
  return step;
}

// Returns `pa`, or null if its blocks for the request are not aligned. The request then makes no
// preallocation, because that would overlap `pa` in the file.
Prealloc* Allocator::keep_if_aligned(Search& search, Prealloc* pa) const {
  if (pa == nullptr || search.extsize == 0 || !is_aligned_request(search)) return pa;
  const Extent part = preallocs_.clusters_for(search, *pa);
  const std::uint32_t len = search.orig.len;
  if (part.len >= len && starts_aligned(state_.geometry(), part, len)) return pa;
  search.flags |= mb::hint_noprealloc;
  return nullptr;
}

// Returns `pa`, or null if the guide refuses it. The guide may also refuse a null `pa`; a
// preallocation must then serve the request.
Prealloc* Allocator::keep_if_accepted(Search& search, Prealloc* pa) const {
  if (search.guide == nullptr) return pa;
  const Extent part = pa == nullptr ? Extent{} : preallocs_.clusters_for(search, *pa);
  if (search.guide->accepts({true, search.goal, part})) return pa;
  search.refused = true;
  return nullptr;
}

// Searches with a guide, which may reveal that the kernel skipped groups because another CPU held
// their locks. The search then starts over and skips them. The buddies that the first try loaded
// stay loaded; everything else is undone.
void Allocator::search_guided(Search& search) {
  const Search begun = search;
  const Counters before = counters_;
  GroupSearch(search, policy_).run(streams_, start_);
  const bool refused = search.refused && !begun.refused;
  const bool doubted = search.doubted;
  if (!refused && !doubted) return;
  Counters ignored;
  Search trial(state_, tunables_, ignored);
  copy_request(begun, trial);
  trial.goal_len = begun.goal_len;
  const PassedOver passed = find_any_passed(begun, search.best.group, *search.guide, trial);
  if (passed.empty() && !doubted) return;
  const std::uint64_t generated = counters_.buddies_generated;
  counters_ = before;
  counters_.buddies_generated = generated;
  search.restart(begun);
  search.passed_over = passed;
  search.settled = passed.empty();
  GroupSearch(search, policy_).run(streams_, start_);
}

// Determines the goal from which the request's stream continues.
void Allocator::read_stream(const Request& request, Search& search) const {
  if ((search.flags & mb::stream_alloc) == 0) return;
  search.continues_from = search.guide == nullptr
                              ? request.inputs.continues_from
                              : search.guide->continues_from(streams_, request.ino);
}

// Searches for space for the request. If there is no space, discards preallocations and tries
// again, by the retry rules of ext4_mb_new_blocks for a single writer.
void Allocator::search_space(const Request& request, Search& search, Prealloc*& pa) {
  constexpr int kTries = 3;
  const PreallocRules& rules = policy_.kernel.preallocs;
  const bool tries_lock = policy_.kernel.groups.tries_lock;
  if (tries_lock) {
    search.passed_over = request.inputs.passed_over;
    search.held = request.held;
  }
  for (int tries = 1;; ++tries) {
    if (tries_lock && search.guide != nullptr)
      search_guided(search);
    else
      GroupSearch(search, policy_).run(streams_, start_);
    start_.finish(search.status == Search::Status::found ? search.best.group : 0);
    if (search.status == Search::Status::found || search.refused) break;
    if (rules.retries == PreallocRules::Retries::twice && tries >= kTries) break;
    const bool discarded = preallocs_.discard_for(search.orig.len);
    search.tell(&SearchObserver::on_retry, discarded);
    if (discarded) continue;
    if (rules.retries == PreallocRules::Retries::while_discarding ||
        (search.flags & mb::strict_check) != 0)
      break;
    search.flags |= mb::strict_check;
  }
  if (search.status == Search::Status::going && search.extsize != 0 && tunables_.extsize_trim != 0)
    search_trimmed(search);
  if (search.status != Search::Status::found && search.guide != nullptr &&
      !search.guide->accepts({false, search.goal, {}})) {
    take_dictated(search);
    search.taken = search.best;
    start_.finish(search.best.group);
  }
  if (search.status != Search::Status::found) return;
  if ((search.flags & mb::stream_alloc) != 0)
    streams_.move(search.taken, request.ino, request.number);
  if (search.orig.len < search.best.len) pa = new_preallocation(request, search);
}

// Searches for an aligned extent of the request's own length. Does nothing if the goal has that
// length already.
void Allocator::search_trimmed(Search& search) {
  const std::uint32_t len = aligned_len(search);
  if (search.goal.len == len) return;
  search.goal.len = search.goal_len = len;
  GroupSearch(search, policy_).run(streams_, start_);
  start_.finish(search.status == Search::Status::found ? search.best.group : 0);
}

// Decides at which file blocks the found clusters are placed. Returns false if they cannot become a
// preallocation. This happens only with a dictated result, when the request needs a cluster that
// was in use or a group preallocation would have holes.
bool Allocator::place_best(Search& search) const {
  const Geometry& geometry = state_.geometry();
  if ((search.flags & mb::hint_group_alloc) != 0) return held_.empty();
  if (search.best.len < search.goal_len) {
    const Extent goal = {0, 0, search.goal_len, search.goal.logical};
    search.best.logical = place_in_goal(geometry, search.orig, goal, search.best.len,
                                        policy_.kernel.preallocs.placed);
  }
  // A dictated result need not cover the request.
  if (search.orig.logical < search.best.logical ||
      search.orig.logical >= logical_end(geometry, search.best))
    search.best.logical = search.orig.logical;
  const std::uint32_t offset = search.orig.logical - search.best.logical;
  return held_.empty() || !bitmap::test(held_, offset >> geometry.cluster_bits);
}

// Makes a preallocation of the found clusters and serves the request from it. Returns null if that
// is impossible. The request then gets the clusters that it needs, and the rest belongs to no
// preallocation.
Prealloc* Allocator::new_preallocation(const Request& request, Search& search) {
  if (!place_best(search)) {
    search.best.len = search.orig.len;
    search.best.logical = search.orig.logical;
    return nullptr;
  }
  return &preallocs_.make(request, search, held_);
}

void Allocator::collect(const Search& search) {
  if (fault_.what == Search::Fault::What::none) fault_ = search.fault;
  if (search.goal.len == 0) return;
  ++counters_.requests;
  counters_.allocated += search.best.len;
  if (search.best.len >= search.orig.len) ++counters_.success;
  counters_.extents_scanned += search.found;
  counters_.groups_scanned += search.groups_scanned;
  if (search.goal.start == search.best.start && search.goal.group == search.best.group)
    ++counters_.goal_hits;
  if (search.taken.len > 0 && search.taken.len == search.goal_len) ++counters_.len_goal_hits;
  if (search.found > tunables_.mb_max_to_scan) ++counters_.breaks;
}

// Takes the dictated result in place of a search result.
void Allocator::take_dictated(Search& search) {
  const Extent& want = search.guide->dictated().result;
  search.conflicts += state_.force_take(want.group, want.start, want.len, held_);
  search.best = want;
  search.status = Search::Status::found;
}

void Allocator::mark_read(std::uint32_t first, std::uint32_t next) {
  const std::uint32_t groups = state_.group_count();
  if (first >= groups || next > groups) return;
  std::uint32_t group = first;
  do {
    state_.mark_read(state_.group(group));
    if (++group == groups) group = 0;
  } while (group != next % groups);
}

void Allocator::retune(const Tunables& tunables) {
  tunables_ = with_mount_of(tunables_, tunables);
}

void Allocator::load_by_others(std::uint32_t group) {
  const std::uint32_t groups = state_.group_count();
  if (group >= groups) return;
  if (state_.group(group).need_init) {
    const ReadBatch batch = read_batch(tunables_, state_.geometry(), group);
    mark_read(batch.first, batch.next);
  }
  load_group(group);
}

void Allocator::note_reload(std::uint32_t group) {
  if (group >= state_.group_count()) return;
  ++counters_.buddies_generated;
  state_.reload(group);
}

void Allocator::reclaim(std::uint32_t group) {
  if (group >= state_.group_count()) return;
  state_.group(group).reclaimed = true;
  reclaimed_.push_back(group);
}

// The recorded search loaded the groups in reclaimed_. Loads those that this search did not use.
void Allocator::load_reclaimed() {
  for (const std::uint32_t group : reclaimed_)
    if (std::exchange(state_.group(group).reclaimed, false)) note_reload(group);
  reclaimed_.clear();
}

void Allocator::load_group(std::uint32_t group) {
  if (group >= state_.group_count()) return;
  counters_.buddies_generated += state_.load(group);
}

}  // namespace e4r::allocator
