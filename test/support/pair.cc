// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/pair.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "replay/explain.h"
#include "replay/intake.h"
#include "replay/warm_start.h"
#include "support/draw.h"
#include "support/drivers.h"
#include "support/model.h"
#include "support/model_look.h"

namespace e4r::test {
namespace {

namespace bitmap = state::bitmap;
using trace::Event;
using trace::EventKind;

constexpr std::size_t kMostEvents = 120;

// A start image drawn from the bytes. A group has at most a few hundred clusters.
class Image {
 public:
  explicit Image(Draw& draw);
  [[nodiscard]] const state::Source& source() const { return source_; }

 private:
  void shape(Draw& draw);
  void fill(std::uint32_t group, Draw& draw);
  void judge(std::uint32_t group, Draw& draw);

  state::Source source_;
  std::vector<std::vector<std::uint64_t>> words_;
};

void Image::shape(Draw& draw) {
  state::MountedGeometry& g = source_.geometry;
  const std::uint8_t bits = draw.byte();
  g.block_bits = 10 + draw.below(7);
  g.cluster_bits = (bits & 1) != 0 ? draw.below(5) : 0;
  g.first_data_block = g.block_bits == 10 && g.cluster_bits == 0 ? 1 : 0;
  g.clusters_per_group = 8 * (1 + draw.below(24));
  g.blocks_per_group = g.clusters_per_group << g.cluster_bits;
  g.groups = 1 + draw.below(draw.one_in(8) ? 20 : 6);
  g.inodes_per_group = 16;
  g.flex_bg = (bits & 2) != 0;
  g.log_groups_per_flex = g.flex_bg ? draw.below(4) : 0;
  g.stripe = (bits & 4) != 0 ? draw.below(40) : 0;
  if (g.stripe == 1) g.stripe = 0;
  g.desc_csum = (bits & 8) != 0;
  g.journal = (bits & 16) != 0;
  g.extents = (bits & 32) == 0;
  const std::uint32_t missing = (bits & 64) != 0 ? draw.below(g.blocks_per_group) : 0;
  g.blocks_count = std::uint64_t{g.groups} * g.blocks_per_group + g.first_data_block - missing;
}

// Draws runs of free and used clusters, after some metadata.
void Image::fill(std::uint32_t group, Draw& draw) {
  const Geometry& g = source_.geometry;
  const std::uint32_t clusters = g.clusters_in(group);
  auto& words = words_[group];
  words.assign((g.clusters_per_group + 63) / 64, ~0ull);
  const std::uint32_t head = std::min(1 + draw.below(3), clusters);
  source_.metadata.push_back({g.first_block(group), g.to_blocks(head)});
  const std::uint32_t longest = draw.below(64);
  for (std::uint32_t at = head; at < clusters;) {
    const std::uint32_t rest = clusters - at;
    const std::uint32_t run = longest == 0 ? rest : std::min(rest, 1 + draw.below(longest));
    bitmap::clear_range(words, at, run);
    at += run + (longest == 0 ? 0 : 1 + draw.below(longest));
  }
}

// Draws the descriptor of the group. It may contradict the bitmap.
void Image::judge(std::uint32_t group, Draw& draw) {
  state::GroupSource& out = source_.groups[group];
  const std::uint8_t how = draw.byte();
  if (how >= 250) {
    out.corrupt = true;
    std::fill(words_[group].begin(), words_[group].end(), ~0ull);
  }
  out.words = words_[group];
  out.init_free = out.disk_free =
      bitmap::count_clear(out.words, source_.geometry.clusters_per_group);
  if (how >= 240 && how < 250)
    out.init_free = out.disk_free = static_cast<std::uint32_t>(draw.odd(100));
  out.block_uninit = source_.geometry.desc_csum && how < 40;
}

Image::Image(Draw& draw) {
  shape(draw);
  words_.resize(source_.geometry.groups);
  source_.groups.resize(source_.geometry.groups);
  for (std::uint32_t group = 0; group < source_.geometry.groups; ++group) {
    fill(group, draw);
    judge(group, draw);
  }
}

const allocator::Policy& draw_policy(Draw& draw) {
  const auto all = allocator::policies();
  return *all[draw.below(static_cast<std::uint32_t>(all.size()))];
}

allocator::Tunables draw_tunables(const state::MountedGeometry& geometry, Draw& draw) {
  allocator::Tunables out = allocator::defaults_for(geometry);
  const auto table = allocator::tunable_table();
  for (std::uint32_t count = draw.below(4); count > 0; --count) {
    const allocator::TunableInfo& info =
        table[draw.below(static_cast<std::uint32_t>(table.size()))];
    out.*(info.member) = std::min(draw.odd(64), info.max);
  }
  return out;
}

// Drives an allocator through drawn operations and records their trace.
class Recorder {
 public:
  Recorder(const state::Source& source, const allocator::Policy& policy,
           const allocator::Tunables& tunables, Draw& draw)
      : draw_(draw),
        state_(source, allocator::group_index(policy, tunables)),
        allocator_(state_, policy, tunables),
        writer_(draw.one_in(3)) {}

  void step();
  [[nodiscard]] const std::vector<Event>& events() const { return writer_.events(); }
  [[nodiscard]] state::FsState& state() { return state_; }

 private:
  struct Taken {
    std::uint32_t group, start, len;
    std::uint64_t ino;
  };
  void allocate();
  void free();
  void commit();

  Draw& draw_;
  state::FsState state_;
  allocator::Allocator allocator_;
  KernelTraceWriter writer_;
  std::vector<Taken> taken_;
  std::uint64_t transaction_ = 0;
  bool committing_ = false;
};

void Recorder::allocate() {
  const Geometry& g = state_.geometry();
  const Thread thread = {1 + draw_.below(3), static_cast<std::uint16_t>(draw_.below(2))};
  allocator::Request request;
  const std::uint8_t how = draw_.byte();
  request.ino = 11 + draw_.below(6);
  request.len = 1 + draw_.below((how & 1) != 0 ? g.clusters_per_group : 20);
  request.logical = draw_.below(64) << g.cluster_bits;
  request.flags = (how & 2) != 0 ? mb::hint_data : 0;
  if ((how & 0x30) == 0x30) request.flags |= 1u << draw_.below(16);
  request.goal =
      draw_.below(static_cast<std::uint32_t>(std::min<std::uint64_t>(g.blocks_count, 65535)));
  if ((how & 4) != 0 && !taken_.empty()) {
    const Taken& left = taken_.back();
    request.left_block = g.block_of(left.group, left.start);
    request.left_logical = request.logical - 1;
  }
  request.inputs_exact = true;
  request.size_hint = draw_.below(40) << 12;
  request.open_for_write = (how & 8) == 0;
  auto open = writer_.open(thread, request, request.len);
  const allocator::Decision d = allocator_.allocate(request);
  writer_.mark_decision(open, d);
  writer_.finish(open, d);
  if (d.success)
    taken_.push_back({g.group_of(d.block), g.cluster_in_group(d.block), d.len, request.ino});
}

void Recorder::free() {
  if (taken_.empty()) return;
  const std::uint32_t which = draw_.below(static_cast<std::uint32_t>(taken_.size()));
  const Taken t = taken_[which];
  taken_.erase(taken_.begin() + which);
  const Thread thread = {1 + draw_.below(3), 0};
  writer_.add_discard(thread, t.ino);
  allocator_.discard_inode(t.ino, 0);
  if (state_.free_clusters(t.group, t.start, t.len, transaction_, !state_.geometry().journal).ok())
    writer_.add_free(thread, t.ino, t.group, t.start, t.len);
}

void Recorder::commit() {
  if (committing_) {
    state_.commit(transaction_ - 1);
    writer_.add_commit(EventKind::end_commit, transaction_ - 1);
  } else {
    writer_.add_commit(EventKind::commit_flushing, transaction_++);
  }
  committing_ = !committing_;
}

void Recorder::step() {
  const std::uint32_t what = draw_.below(16);
  if (what < 9) return allocate();
  if (what < 12) return free();
  if (what == 12) return commit();
  if (what == 13) {
    const std::uint32_t group = draw_.below(state_.group_count());
    allocator_.load_by_others(group);
    return writer_.add_load({9, 0}, group);
  }
  const bool made = what == 14;
  writer_.add_inode_event({1, 0}, made ? EventKind::allocate_inode : EventKind::free_inode,
                          11 + draw_.below(6));
}

// Returns an extent with drawn numbers.
trace::RecordedExtent draw_extent(const Geometry& g, Draw& draw) {
  return {static_cast<std::uint32_t>(draw.odd(g.groups)),
          static_cast<std::int32_t>(draw.odd(g.clusters_per_group)),
          static_cast<std::uint32_t>(draw.odd(g.clusters_per_group)),
          static_cast<std::uint32_t>(draw.odd(64))};
}

// Overwrites one field of the event with a drawn value.
void damage(Event& e, const Geometry& g, Draw& draw) {
  switch (draw.below(20)) {
    case 0:
      e.kind = static_cast<EventKind>(draw.below(trace::kEventKinds));
      return;
    case 1:
      e.pid = static_cast<std::uint32_t>(draw.odd(4));
      return;
    case 2:
      e.ino = draw.odd(20);
      return;
    case 3:
      e.block = draw.odd(g.blocks_count);
      return;
    case 4:
      e.count = draw.odd(g.clusters_per_group);
      return;
    case 5:
      e.logical = draw.odd(1000);
      return;
    case 6:
      e.goal = draw.odd(g.blocks_count);
      return;
    case 7:
      e.left_block = draw.odd(g.blocks_count);
      return;
    case 8:
      e.right_block = draw.odd(g.blocks_count);
      return;
    case 9:
      e.left_logical = static_cast<std::uint32_t>(draw.odd(1000));
      return;
    case 10:
      e.right_logical = static_cast<std::uint32_t>(draw.odd(1000));
      return;
    case 11:
      e.group = static_cast<std::uint32_t>(draw.odd(g.groups));
      return;
    case 12:
      e.flags = static_cast<std::uint32_t>(draw.raw(4));
      return;
    case 13:
      e.orig = draw_extent(g, draw);
      return;
    case 14:
      e.result = draw_extent(g, draw);
      return;
    case 15:
      e.goal_ex = draw_extent(g, draw);
      return;
    case 16:
      e.i_size = draw.odd(1u << 20);
      e.has_inputs = true;
      return;
    case 17:
      e.cpu = static_cast<std::uint16_t>(draw.odd(4));
      return;
    case 18:
      e.result.len = static_cast<std::uint32_t>(draw.odd(g.clusters_per_group));
      return;
    default:
      e.mode = static_cast<std::uint16_t>(draw.raw(2));
      return;
  }
}

Event draw_event(const Geometry& g, Draw& draw) {
  Event e;
  e.kind = static_cast<EventKind>(draw.below(trace::kEventKinds));
  e.pid = 1 + draw.below(3);
  e.ino = 11 + draw.below(6);
  e.count = draw.below(40);
  e.result = draw_extent(g, draw);
  e.group = e.result.group;
  e.orig = e.goal_ex = e.result;
  e.block = draw.odd(g.blocks_count);
  e.flags = mb::hint_data;
  return e;
}

// Changes a few or many events of the trace.
void damage(std::vector<Event>& events, const Geometry& g, Draw& draw) {
  const auto any = [&] { return draw.below(static_cast<std::uint32_t>(events.size())); };
  for (std::uint32_t count = draw.below(24); count > 0 && !events.empty(); --count) {
    const std::uint32_t at = any();
    const auto here = events.begin() + at;
    switch (draw.below(8)) {
      case 0:
        events.erase(here);
        break;
      case 1: {
        const Event again = *here;
        events.insert(here, again);
        break;
      }
      case 2:
        std::swap(*here, events[any()]);
        break;
      case 3:
        events.insert(here, draw_event(g, draw));
        break;
      default:
        damage(*here, g, draw);
        break;
    }
  }
}

// Overwrites figures of mb_groups.
void damage(std::vector<state::MbGroup>& shown, const Geometry& g, Draw& draw) {
  for (std::uint32_t count = draw.below(12); count > 0 && !shown.empty(); --count) {
    state::MbGroup& group = shown[draw.below(static_cast<std::uint32_t>(shown.size()))];
    const std::uint32_t which = draw.below(4 + state::MbGroup::kOrders);
    const auto figure =
        static_cast<std::uint32_t>(draw.odd(which == 0 ? g.groups : g.clusters_per_group));
    if (which >= 4) group.counters[which - 4] = figure;
    if (which == 0) group.number = figure;
    if (which == 1) group.free = figure;
    if (which == 2) group.fragments = figure;
    if (which == 3) group.first_free = figure;
  }
}

// A start state and a trace.
struct Case {
  const state::Source* source = nullptr;
  std::vector<Event> events;
  std::optional<replay::WarmStart> warm;
  std::uint64_t check_every = 1;
  std::uint64_t explained = 0;  // the decision to explain, counted from 1
  replay::InputTable inputs;
};

// Replays once. Returns the failure, or "".
std::string replay_once(Driver driver, Case& it, const allocator::Policy& policy,
                        const allocator::Tunables& tunables) {
  replay::Setup setup = checked_every(it.check_every);
  if (it.explained != 0)
    setup.keep = [&it](replay::Accounts& accounts) {
      accounts.add<replay::Explanations>(std::vector{it.explained});
    };
  const Replayed replayed = replay_as(driver, *it.source, policy, tunables, it.events, it.inputs,
                                      setup, it.warm ? &*it.warm : nullptr);
  if (!replayed.status.ok()) return replayed.status.error().message;
  const replay::Engine& engine = *replayed.engine;
  if (engine.state().bad_frees() > 0) return "ranges were given back that were free already";
  std::vector<std::uint64_t> words;
  for (std::uint32_t group = 0; group < engine.state().group_count(); ++group)
    engine.state().settled_words(group, words);
  if (const auto* explained = engine.find<replay::Explanations>())
    (void)explained->text(it.explained);
  if (driver == Driver::follow && it.warm)
    it.warm->learn(static_cast<const replay::Follow&>(engine).learnt(), it.source->geometry.groups);
  return {};
}

}  // namespace

std::string replay_pair(std::span<const std::uint8_t> bytes) {
  Draw draw(bytes);
  const Image image(draw);
  const allocator::Policy& recorded = draw_policy(draw);
  const allocator::Policy& other = draw_policy(draw);
  const state::MountedGeometry& geometry = image.source().geometry;
  const allocator::Tunables tunables = draw_tunables(geometry, draw);
  const allocator::Tunables others = draw_tunables(geometry, draw);
  Case it;
  it.source = &image.source();
  it.check_every = draw.one_in(8) ? 1 : 20 + draw.below(60);
  // The damage is drawn from the bytes in reverse order, so that it does not change what the
  // recorder draws.
  const std::vector<std::uint8_t> backwards(bytes.rbegin(), bytes.rend());
  Draw damage_draw(backwards);
  Recorder recorder(image.source(), recorded, tunables, draw);
  // Every other trace begins in the middle of the operations.
  std::optional<ModelLook> look;
  if (const std::uint8_t past = damage_draw.byte(); past >= 128) {
    for (int step = past % 64; step > 0; --step) recorder.step();
    it.source = &look.emplace(recorder.state(), image.source().metadata).source();
  }
  const std::size_t seen_from = recorder.events().size();
  while (draw.more() && recorder.events().size() < seen_from + kMostEvents) recorder.step();
  it.events.assign(recorder.events().begin() + static_cast<std::ptrdiff_t>(seen_from),
                   recorder.events().end());
  damage(it.events, geometry, damage_draw);
  MemorySource held_against(it.events);
  (void)replay::check_fit(geometry, held_against);
  it.explained = damage_draw.below(64);
  if (look) {
    std::vector<state::MbGroup> shown;
    if (!damage_draw.one_in(4)) shown = look->shown();
    damage(shown, geometry, damage_draw);
    MemorySource stream(it.events);
    it.warm = *replay::deduce_warm_start(*it.source, stream, shown, tunables.mb_stream_req);
  }
  std::string problem = replay_once(Driver::follow, it, recorded, tunables);
  // Follow the trace again, now with the order of lists that the first run has found.
  if (problem.empty() && it.warm && it.warm->precedences > 0)
    problem = replay_once(Driver::follow, it, recorded, tunables);
  if (problem.empty()) problem = replay_once(Driver::free_run, it, recorded, tunables);
  if (problem.empty()) problem = replay_once(Driver::what_if, it, other, others);
  return problem;
}

}  // namespace e4r::test
