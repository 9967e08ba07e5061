// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/kernel.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "image/superblock.h"

namespace e4r::guest {
namespace {

static_assert(allocator::PassedOver::kMost <= E4R_MOST_LOCKED);
static_assert(allocator::kGroupLocks == E4R_GROUP_LOCKS);

// Keeps the mount quiet: no thread reads bitmaps or initialises tables, and no commit is due. An
// ext4 error becomes a warning, which ends the kernel immediately.
constexpr std::string_view kMountOptions = "noinit_itable,nobarrier,errors=continue,warn_on_error";
constexpr std::string_view kJournalOptions = ",commit=1000000";
constexpr std::string_view kMbStats = "/proc/fs/ext4/ubda/mb_stats";

Extent extent(const e4r_extent& e) {
  return {e.group, e.start, e.len, e.logical};
}

// Whether the kernel has the order lists, as kernels from 5.13 on do. These kernels read bitmaps in
// the background unless a mount option prevents it.
Result<bool> has_lists(const std::string& kernel) {
  E4R_TRY(const KernelFile file, read_kernel_file(kernel));
  const auto release = allocator::parse_release(file.release);
  return !release || !(*release < allocator::Release{5, 13, 0});
}

std::string sysfs_file(std::string_view tunable) {
  return fmt::format("/sys/fs/ext4/ubda/{}", tunable);
}

// The name of a lock: the last identifier, outside an index, of the expression in the source, such
// as "&sbi->s_mb_locks[i]".
std::string_view lock_name(const char (&words)[E4R_LOCK_NAME_BYTES]) {
  const std::string_view text(words, ::strnlen(words, sizeof(words)));
  const auto in_name = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  std::size_t end = std::min(text.find('['), text.size());
  while (end > 0 && !in_name(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && in_name(text[begin - 1])) --begin;
  return begin == end ? text : text.substr(begin, end - begin);
}

// The guest's memory in MiB, which must hold stand-in inodes, bitmaps and buddies.
std::uint32_t memory_for(const state::Source& source) {
  constexpr std::uint64_t kBase = 512, kMost = 4096;
  const std::uint64_t per_group = 4ull << source.geometry.block_bits;
  return static_cast<std::uint32_t>(
      std::min(kBase + (source.geometry.groups * per_group >> 20), kMost));
}

}  // namespace

KernelDecider::KernelDecider(const state::Source& source, const KernelOptions& options)
    : options_(options),
      state_(source, state::GroupIndex::none),
      freed_(options.policy->kernel.freed),
      streams_(options.policy->kernel.stream, source.geometry.groups,
               options.tunables.possible_cpus) {
  streams_.plant(options.planted.streams);
}

Result<std::unique_ptr<KernelDecider>> KernelDecider::start(const state::Source& source,
                                                            const KernelOptions& options) {
  std::unique_ptr<KernelDecider> kernel(new KernelDecider(source, options));
  E4R_CHECK(kernel->boot(source));
  E4R_CHECK(kernel->mount(source));
  E4R_CHECK(kernel->set_tunables(nullptr));
  E4R_CHECK(kernel->set_own_tunables());
  if (!options.loaded) return kernel;
  E4R_CHECK(kernel->load_all());
  E4R_CHECK(kernel->plant_freed());
  E4R_CHECK(kernel->plant_preallocs());
  E4R_CHECK(kernel->place_groups());
  return kernel;
}

Status KernelDecider::boot(const state::Source& source) {
  E4R_TRY(const image::MountableDisks disks,
          image::make_mountable(options_.image, options_.named, disk_device(1)));
  Boot boot;
  boot.kernel = options_.kernel;
  boot.disk = disks.file_system.get();
  if (disks.journal.is_open()) boot.journal = disks.journal.get();
  boot.memory_mib = memory_for(source);
  if (const char* patience = std::getenv("E4R_GUEST_PATIENCE"))
    boot.patience = std::chrono::seconds(std::max(std::atoi(patience), 1));
  E4R_TRY(guest_, Guest::start(boot));
  return {};
}

Status KernelDecider::mount(const state::Source& source) {
  std::string text(kMountOptions);
  if (source.geometry.journal) text += kJournalOptions;
  if (source.geometry.data_writeback) text += ",data=writeback";
  if (options_.tunables.mb_stripe > 1)
    text += fmt::format(",stripe={}", options_.tunables.mb_stripe);
  E4R_TRY(const bool lists, has_lists(options_.kernel));
  if (lists)
    text += fmt::format(",no_prefetch_block_bitmaps,mb_optimize_scan={}",
                        options_.tunables.mb_optimize_scan);
  if (!options_.mount_options.empty()) text += ',' + options_.mount_options;
  e4r_op op = operation(E4R_MOUNT);
  op.cpu = static_cast<std::uint32_t>(options_.tunables.possible_cpus);
  Status mounted =
      guest_->tell(op, text, fmt::format("{}: cannot mount {}", options_.kernel, options_.named));
  if (!mounted.ok()) {
    if (is_kernels_fault(mounted.error())) return mounted;
    return error("{} ({})", mounted.error().message, guest_->last_words());
  }
  const auto stats = guest_->read_file(std::string(kMbStats));
  if (!stats.ok() && is_kernels_fault(stats.error())) return stats.error();
  counters_.complete = stats.ok();
  return {};
}

// Writes the tunables that differ from `before`, or initially from the kernel's own values. Skips
// equal values because the kernel refuses some of its own defaults (mb_group_prealloc of small
// groups). Skips tunables that the kernel lacks: its decisions cannot depend on them.
Status KernelDecider::set_tunables(const allocator::Tunables* before) {
  constexpr std::string_view kNotInSysfs[] = {"mb_stripe", "mb_optimize_scan", "possible_cpus"};
  for (const allocator::TunableInfo& info : allocator::tunable_table()) {
    if (std::ranges::find(kNotInSysfs, info.name) != std::end(kNotInSysfs)) continue;
    if (!allocator::has_tunable(*options_.policy, info)) continue;
    const std::string file = sysfs_file(info.name);
    const std::string value = std::to_string(value_of(options_.tunables, info));
    if (before == nullptr) {
      const Result<std::string> has = guest_->read_file(file);
      if (!has.ok() && is_kernels_fault(has.error())) return has.error();
      if (!has.ok()) absent_.insert(info.name);
      if (!has.ok() || *has == value + '\n') continue;
    } else if (absent_.contains(info.name) ||
               value_of(*before, info) == value_of(options_.tunables, info)) {
      continue;
    }
    E4R_CHECK(guest_->write_file(file, value));
  }
  return {};
}

Status KernelDecider::set_own_tunables() {
  for (const TreeTunable& tunable : options_.own_tunables) {
    const std::string file = sysfs_file(tunable.name);
    if (!guest_->read_file(file).ok())
      return error("{}: its kernel has no tunable {} ({})", options_.kernel, tunable.name, file);
    E4R_CHECK(guest_->write_file(file, tunable.value));
  }
  return {};
}

void KernelDecider::post(const e4r_op& op) {
  if (status_.ok()) status_ = guest_->post(op);
}

// Sets the size and the number of writers of the stand-in.
void KernelDecider::fill_inode(const allocator::Request& request, e4r_op& op) const {
  const state::MountedGeometry& geometry = state_.geometry();
  op.mode = S_IFREG | 0600;
  op.extents = geometry.extents;
  op.i_size = request.size_hint;
  op.writers = request.open_for_write ? 1 : 0;
  if (request.inputs_exact) return;
  const allocator::DecisionInputs& known = request.inputs;
  const std::uint64_t end = (request.logical + geometry.to_blocks(request.len))
                            << geometry.block_bits;
  const std::uint64_t least_stream = (options_.tunables.mb_stream_req + 1) << geometry.block_bits;
  // Use the largest end of the file in the trace so far, unless the request shows that the file has
  // shrunk.
  op.i_size = std::max(end, request.size_hint);
  if (known.size != allocator::SizeStep::unknown &&
      allocator::size_step(op.i_size, geometry) != known.size)
    op.i_size = std::max(end, allocator::smallest_in(known.size));
  switch (known.mode) {
    case allocator::Mode::group:
      op.writers = 1;
      if (op.i_size >= least_stream) op.i_size = end;
      break;
    case allocator::Mode::stream:
      op.writers = 1;
      op.i_size = std::max<std::uint64_t>(op.i_size, least_stream);
      break;
    case allocator::Mode::noprealloc:
      op.writers = 0;
      op.i_size = end;
      break;
    case allocator::Mode::unknown:
      break;
  }
}

// Sets the inputs that show how requests decided at the same time influenced this one.
void KernelDecider::fill_race(const allocator::Request& request, e4r_op& op) const {
  const allocator::DecisionInputs& known = request.inputs;
  for (const allocator::PassedOver::Entry& entry : known.passed_over.entries()) {
    op.locked[op.locked_count] = entry.group;
    op.visits[op.locked_count++] = entry.visits;
  }
  op.loses_best = known.loses_best;
  for (std::uint32_t lock = 0; request.held != nullptr && lock < E4R_GROUP_LOCKS; ++lock)
    op.held[lock / 64] |= std::uint64_t{request.held->test(lock)} << (lock % 64);
  // The kernel's own state has the latest goal, unless that goal is from before the trace.
  const bool latest = known.continues_from == allocator::kLatestGoal;
  if (latest && options_.planted.streams.empty()) return;
  streams_.for_each(request.ino, [&](const allocator::StreamGoals::Goal& goal) {
    const bool wanted = goal.request == (latest ? 0 : known.continues_from);
    if (wanted) {
      op.other_stream_goal = 1;
      op.stream_group = goal.group;
      op.stream_start = goal.start;
    }
    return !wanted && !latest;
  });
}

// Marks decisions that depend on guessed inputs. The mode `noprealloc` needs no guess: it implies
// that the request ends at the file's end and that no program has the file open.
void KernelDecider::note_guesses(const allocator::Request& request,
                                 allocator::Decision& out) const {
  const bool data = (request.flags & mb::hint_data) != 0;
  if (request.inputs_exact || !data || request.inputs.mode == allocator::Mode::noprealloc) return;
  out.size_guessed = out.writers_guessed = true;
}

void KernelDecider::run_ahead(Heard heard) {
  ahead_ = true;
  guest_->listen([this, heard = std::move(heard)](const e4r_op& op, const e4r_answer& answer) {
    if (op.kind != E4R_ALLOCATE || !status_.ok()) return;
    if (const std::string wrong = wrong_with(op, answer); !wrong.empty())
      status_ = kernels_fault(options_.kernel, wrong);
    else
      heard(decision(op, answer),
            counters_.complete ? std::optional(answer.considered) : std::nullopt);
  });
}

allocator::Decision KernelDecider::allocate(const allocator::Request& request, allocator::Guide*) {
  if (!status_.ok()) return {};
  e4r_op op = operation(E4R_ALLOCATE, request.ino);
  op.flags = request.flags;
  op.goal = request.goal;
  op.pleft = request.left_block;
  op.pright = request.right_block;
  op.len = request.len;
  op.logical = request.logical;
  op.lleft = request.left_logical;
  op.lright = request.right_logical;
  op.cpu = request.cpu;
  op.locks = notes_ != nullptr && !ahead_;
  fill_race(request, op);
  fill_inode(request, op);
  if (ahead_) {
    post(op);
    return {};
  }
  const auto answer = guest_->ask(op);
  if (!answer.ok()) {
    status_ = answer.error();
    return {};
  }
  if (const std::string wrong = wrong_with(op, **answer); !wrong.empty()) {
    status_ = kernels_fault(options_.kernel, wrong);
    return {};
  }
  allocator::Decision out = decision(op, **answer);
  out.inputs = request.inputs;
  note_guesses(request, out);
  if (notes_ != nullptr) read_locks();
  count(out, (*answer)->considered);
  counters_.groups_left += (*answer)->refused;
  keep(out);
  if (!out.prealloc && out.result.len > 0 && (out.flags & mb::stream_alloc) != 0)
    streams_.move(out.result, request.ino, request.number);
  return out;
}

// Passes the lock operations of the last request on to notes_.
void KernelDecider::read_locks() {
  using What = allocator::LockStep::What;
  const e4r_locks& noted = guest_->shared().locks;
  const std::uint32_t names = std::min(noted.names, E4R_LOCK_NAMES);
  while (lock_names_.size() < names)
    lock_names_.push_back(notes_->name(lock_name(noted.name[lock_names_.size()])));
  steps_.clear();
  const double ns_per_cycle = 1024e3 / std::max(noted.cycles_per_us, 1u);
  const auto ns_of = [=](std::uint64_t cycles) {
    constexpr double kMost = UINT32_MAX;
    return static_cast<std::uint32_t>(std::min(static_cast<double>(cycles) * ns_per_cycle, kMost));
  };
  for (std::uint32_t i = 0; i < std::min(noted.events, E4R_LOCK_EVENTS); ++i) {
    const e4r_lock_event event = noted.event[i];  // a copy: the kernel can change it meanwhile
    if (event.name >= names || event.what < E4R_LOCK_TAKE || event.what > E4R_LOCK_LET_GO) continue;
    steps_.push_back({event.lock, ns_of(event.cycles), lock_names_[event.name],
                      static_cast<What>(event.what - E4R_LOCK_TAKE)});
  }
  notes_->add(steps_, ns_of(noted.cycles));
}

// Describes an impossible answer to an allocation; empty if it is possible. Must be called before
// any number of the answer is used as a location in the file system.
std::string KernelDecider::wrong_with(const e4r_op& op, const e4r_answer& answer) const {
  if (answer.error != 0 && answer.error != -ENOSPC)
    return fmt::format("an allocation ended with: {}", errno_text(-answer.error));
  if (answer.error == 0 && answer.len > op.len)
    return fmt::format("it handed out {} clusters of block {}, where {} were asked for", answer.len,
                       answer.block, op.len);
  if ((answer.what & E4R_CLOSED) == 0) return {};
  const Geometry& geometry = state_.geometry();
  e4r_extent goal = answer.goal;
  if (goal.start == allocator::kNoStart) goal.start = 0;
  goal.len = 0;  // a normalised goal may be longer than a small group
  for (const e4r_extent& extent : {answer.orig, goal, answer.result})
    if (extent.group >= geometry.groups || extent.start >= geometry.clusters_per_group ||
        extent.len > geometry.clusters_per_group)
      return fmt::format("its decision has clusters {}+{} of group {}, which do not exist",
                         extent.start, extent.len, extent.group);
  return answer.buddy < 32 ? std::string()
                           : fmt::format("it broke a chunk of order {}", answer.buddy);
}

allocator::Decision KernelDecider::decision(const e4r_op& op, const e4r_answer& answer) {
  allocator::Decision out;
  out.success = answer.error == 0 && answer.len > 0;
  out.block = answer.block;
  out.len = answer.len;
  out.ns = answer.ns;
  out.prealloc = (answer.what & E4R_PREALLOC) != 0;
  out.orig = extent(answer.orig);
  out.goal = extent(answer.goal);
  out.result = extent(answer.result);
  out.goal_len = answer.goal_len != 0 ? answer.goal_len : out.goal.len;
  out.found = answer.found;
  out.groups_scanned = answer.groups;
  out.flags = answer.flags;
  out.tail = answer.tail;
  out.broken = answer.buddy == 0 ? 0 : 1u << answer.buddy;
  // If a patch has added criteria and no model has the same number, the criteria have no names.
  const auto ladder = options_.policy->ladder;
  const bool closed = (answer.what & E4R_CLOSED) != 0;
  const bool named = closed && ladder.size() == guest_->shared().criteria;
  if (closed && !out.prealloc && answer.criterion == guest_->shared().criteria)
    out.criterion = mb::Criterion::past_last;
  else if (named && !out.prealloc && answer.criterion < ladder.size())
    out.criterion = ladder[answer.criterion].criterion;
  // A request that is refused before it reaches the allocator has no closing event.
  if (!closed) {
    const Geometry& geometry = state_.geometry();
    out.orig = {0, 0, op.len, op.logical};
    if (geometry.holds_block(op.goal)) {
      out.orig.group = geometry.group_of(op.goal);
      out.orig.start = geometry.cluster_in_group(op.goal);
    }
  }
  return out;
}

void KernelDecider::count(const allocator::Decision& decision, std::uint64_t considered) {
  ++counters_.requests;
  counters_.allocated += decision.len;
  counters_.extents_scanned += decision.found;
  counters_.groups_scanned += decision.groups_scanned;
  if (decision.prealloc) return;
  // A search that found its goal examined no group, and no criterion ended it.
  if (decision.result.len > 0 && decision.groups_scanned > 0) ++counters_[decision.criterion].hits;
  // A search that went past the last criterion examined its last groups with the last criterion.
  const bool is_rung = !mb::row_of(decision.criterion).section.empty();
  const mb::Criterion criterion =
      is_rung ? decision.criterion : options_.policy->ladder.back().criterion;
  counters_[criterion].groups_considered += considered - considered_;
  considered_ = considered;
}

// Marks the allocated clusters as in use. A kernel that allocates used clusters is at fault.
void KernelDecider::keep(const allocator::Decision& decision) {
  if (!decision.success) return;
  const Geometry& geometry = state_.geometry();
  const bool exists = geometry.holds_block(decision.block);
  const std::uint32_t group = exists ? geometry.group_of(decision.block) : 0;
  const std::uint32_t start = exists ? geometry.cluster_in_group(decision.block) : 0;
  if (!exists || !geometry.holds(group, start, decision.len) ||
      state_.force_take(group, start, decision.len, held_) != 0) {
    status_ = kernels_fault(
        options_.kernel,
        fmt::format("it handed out block {} ({} clusters), which is in use or does not exist",
                    decision.block, decision.len));
    return;
  }
  state_.clear_block_uninit(group);
  state_.group(group).disk_free -= decision.len;
}

bool KernelDecider::free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
                         bool file_data) {
  if (!ahead_) {
    state_.load(group);
    if (!state_.free_clusters(group, start, clusters, 0, true).ok()) return false;
    if (!state_.geometry().frees_at_once(file_data))
      (void)freed_.add(group, start, clusters, transaction_, event_);
  }
  e4r_op op = operation(E4R_FREE);
  op.goal = state_.geometry().block_of(group, start);
  op.len = static_cast<std::uint32_t>(state_.geometry().to_blocks(clusters));
  op.flags = file_data ? E4R_FREE_FILE_DATA : 0;
  post(op);
  return true;
}

bool KernelDecider::give_back(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) {
  return free(group, start, clusters, true);
}

void KernelDecider::begin_commit() {
  if (committing_) (void)freed_.take_committed(transaction_ - 1);
  committing_ = true;
  ++transaction_;
  post(operation(E4R_COMMIT_BEGIN));
}

void KernelDecider::commit_until(std::uint64_t event) {
  if (!committing_) return;
  const auto returned = freed_.take_committed(transaction_ - 1, event);
  if (returned.empty()) return;
  e4r_op op = operation(E4R_COMMIT_UNTIL);
  op.goal = returned.back().group;
  op.len = returned.back().start;
  post(op);
}

void KernelDecider::pretend(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
                            bool free) {
  if (!state_.geometry().holds(group, start, clusters)) return;
  e4r_op op = operation(E4R_PRETEND);
  op.goal = state_.geometry().block_of(group, start);
  op.len = clusters;
  op.flags = free ? E4R_PRETEND_FREE : 0;
  post(op);
}

void KernelDecider::end_commit() {
  if (committing_) (void)freed_.take_committed(transaction_ - 1);
  committing_ = false;
  post(operation(E4R_COMMIT_END));
}

void KernelDecider::discard_inode(std::uint64_t ino, std::uint32_t needed) {
  e4r_op op = operation(E4R_DISCARD, ino);
  op.len = needed;
  post(op);
}

void KernelDecider::make_inode(std::uint64_t ino) {
  post(operation(E4R_MAKE_INODE, ino));
  state_.note_made(ino);
}

void KernelDecider::drop_inode(std::uint64_t ino) {
  post(operation(E4R_DROP_INODE, ino));
}

void KernelDecider::load_by_others(std::uint32_t group) {
  if (group >= state_.group_count()) return;
  if (state_.group(group).need_init) {
    const allocator::ReadBatch batch =
        allocator::read_batch(options_.tunables, state_.geometry(), group);
    mark_read(batch.first, batch.next);
    state_.load(group);
  }
  e4r_op op = operation(E4R_LOAD);
  op.goal = group;
  op.len = 1;
  post(op);
}

void KernelDecider::note_reload(std::uint32_t group) {
  reclaim(group);
  load_by_others(group);
}

void KernelDecider::reclaim(std::uint32_t group) {
  if (group >= state_.group_count()) return;
  e4r_op op = operation(E4R_RECLAIM);
  op.goal = group;
  post(op);
}

void KernelDecider::mark_read(std::uint32_t first, std::uint32_t next) {
  const std::uint32_t groups = state_.group_count();
  if (first >= groups || next > groups) return;
  e4r_op op = operation(E4R_READ);
  op.goal = first;
  op.len = (next > first ? next : groups) - first;
  post(op);
  if (next > first) return;
  op.goal = 0;
  op.len = next;
  post(op);
}

void KernelDecider::retune(const allocator::Tunables& tunables) {
  if (!status_.ok()) return;
  const allocator::Tunables before = options_.tunables;
  options_.tunables = allocator::with_mount_of(before, tunables);
  const Status set = set_tunables(&before);
  if (status_.ok()) status_ = set;  // an answer that arrived meanwhile may have set an error
}

Status KernelDecider::finish() {
  E4R_CHECK(status_);
  E4R_CHECK(guest_->settle());
  if (counters_.complete) {
    E4R_TRY(account_.mb_stats, guest_->read_file(std::string(kMbStats)));
  }
  E4R_TRY(account_.mb_groups, guest_->read_file("/proc/fs/ext4/ubda/mb_groups"));
  guest_.reset();
  status_ = error("{}: its kernel has ended", options_.kernel);
  return {};
}

}  // namespace e4r::guest
