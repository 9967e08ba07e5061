// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/warm_start.h"

#include <algorithm>
#include <bit>
#include <boost/icl/interval_set.hpp>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "allocator/model.h"
#include "ext4/criterion.h"
#include "replay/checkpoint.h"
#include "replay/group_counts.h"
#include "replay/hidden_runs.h"
#include "state/buddy.h"

namespace e4r::replay {
namespace {

using allocator::PlantedPrealloc;
using state::Prealloc;
using trace::Event;
using trace::EventKind;
namespace bitmap = state::bitmap;

// A file block that no request can name.
constexpr std::uint32_t kNowhereInFile = UINT32_MAX;

// Collects evidence from a trace for preallocations that existed before it. The trace uses or gives
// back clusters of such a preallocation, although it has not allocated, preallocated or freed them
// before.
class Evidence {
 public:
  Evidence(const state::Source& source, std::uint64_t stream_req)
      : geometry_(source.geometry), source_(source), stream_req_(stream_req) {}

  void see(const Event& e) {
    switch (e.kind) {
      case EventKind::request_blocks:
        asked_[e.pid] = {e.cpu, size_of(e)};
        return note_neighbours(e);
      case EventKind::mballoc_alloc:
        note_stream(e);
        note_free(e.result);
        note_chunk(e);
        return touch(e.result.group, e.result.start, e.result.len);
      case EventKind::mballoc_free:
        return touch(e.result.group, e.result.start, e.result.len);
      case EventKind::mballoc_prealloc:
        return see_hit(e);
      case EventKind::release_inode_pa:
        return see_release(e, Prealloc::Kind::inode);
      case EventKind::release_group_pa:
        return see_release(e, Prealloc::Kind::group);
      default:
        return;
    }
  }

  // The number of clusters in preallocations that the trace shows.
  [[nodiscard]] std::uint64_t shown() const { return shown_; }
  // Whether the trace shows releases of preallocations. If not, clusters that a search found may
  // have been in a preallocation at the start.
  [[nodiscard]] bool shows_releases() const { return shows_releases_; }

  // Evidence from the trace about a group's free clusters at the start.
  [[nodiscard]] FreeEvidence evidence_of(std::uint32_t group) const {
    FreeEvidence out;
    out.known_free = known_free(group);
    if (const auto parts = not_all_free_.find(group); parts != not_all_free_.end())
      out.not_all_free = parts->second;
    return out;
  }

  [[nodiscard]] std::vector<PlantedPrealloc> take_preallocs() {
    for (PlantedPrealloc& pa : found_) reach_to_old(pa);
    merge_pieces();
    return std::move(found_);
  }
  [[nodiscard]] std::vector<allocator::PlantedStreamGoal> take_streams() {
    return std::move(streams_);
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> known_free(std::uint32_t group) const {
    std::vector<std::uint64_t> words(source_.groups[group].words.size());
    const auto whole = span(group, 0, geometry_.clusters_per_group);
    const auto [begin, end] = known_free_.equal_range(whole);
    for (auto it = begin; it != end; ++it) {
      const std::uint64_t first = std::max(it->lower(), whole.lower());
      bitmap::set_range(words, static_cast<std::uint32_t>(first - whole.lower()),
                        static_cast<std::uint32_t>(std::min(it->upper(), whole.upper()) - first));
    }
    return words;
  }
  using Clusters = boost::icl::interval_set<std::uint64_t>;
  using Span = boost::icl::interval<std::uint64_t>;

  [[nodiscard]] Span::type span(std::uint32_t group, std::int64_t start, std::uint64_t len) const {
    const std::uint64_t first =
        std::uint64_t{group} * geometry_.clusters_per_group + static_cast<std::uint64_t>(start);
    return Span::right_open(first, first + len);
  }
  struct Asked {
    std::uint16_t cpu = 0;
    std::uint64_t size = 0;  // blocks; a lower bound of the file's size
  };
  struct InFile {
    std::uint64_t ino = 0;
    std::uint32_t logical = 0;
  };

  void touch(std::uint32_t group, std::int64_t start, std::uint64_t len) {
    if (len > 0 && geometry_.holds(group, start, len)) touched_.add(span(group, start, len));
  }
  // Records the clusters of an extent that a search found and that no earlier event had named. They
  // were not in a preallocation.
  void note_free(const trace::RecordedExtent& found) {
    if (found.len == 0 || !geometry_.holds(found.group, found.start, found.len)) return;
    const auto whole = span(found.group, found.start, found.len);
    std::uint64_t from = whole.lower();
    const auto [begin, end] = touched_.equal_range(whole);
    for (auto it = begin; it != end; ++it) {
      if (it->lower() > from) known_free_.add(Span::right_open(from, it->lower()));
      from = it->upper();
    }
    if (from < whole.upper()) known_free_.add(Span::right_open(from, whole.upper()));
  }
  // Derives which chunks were free from the last buddy chunk that a search took. The closing event
  // shows how the search split that chunk; if the search took it whole, the result shows the chunk
  // (6.1: mb_mark_used). All clusters of the chunk were free. Its buddy was not entirely free,
  // since two free buddies would have been one chunk.
  void note_chunk(const Event& e) {
    const trace::RecordedExtent& found = e.result;
    if (found.len == 0 || !geometry_.holds(found.group, found.start, found.len)) return;
    const auto start = static_cast<std::uint32_t>(found.start), end = start + found.len;
    ClusterRange chunk;
    if (e.broken == 0) {
      chunk = last_chunk(start, end);
    } else if (e.tail > 0 && e.tail <= std::min(found.len, e.broken) &&
               std::has_single_bit(e.broken)) {
      chunk = {end - e.tail, e.broken};
    }
    if (chunk.count == 0 || chunk.first % chunk.count != 0 ||
        !geometry_.holds(found.group, chunk.first, chunk.count))
      return;
    note_free({found.group, static_cast<std::int32_t>(chunk.first), chunk.count});
    const ClusterRange neighbour = {chunk.first ^ chunk.count, chunk.count};
    if (2 * chunk.count <= geometry_.clusters_per_group &&
        is_new(found.group, neighbour.first, neighbour.count))
      add_not_all_free(not_all_free_[found.group], neighbour);
  }
  // Adds a chunk. If two chunks overlap, one contains the other. Only the smaller one is kept,
  // because it is stronger evidence.
  static void add_not_all_free(std::vector<ClusterRange>& parts, const ClusterRange& part) {
    const auto is_in = [](const ClusterRange& inner, const ClusterRange& outer) {
      return outer.first <= inner.first && inner.end() <= outer.end();
    };
    if (std::ranges::any_of(parts, [&](const ClusterRange& p) { return is_in(p, part); })) return;
    std::erase_if(parts, [&](const ClusterRange& p) { return is_in(part, p); });
    parts.push_back(part);
  }
  // The last of the buddy chunks that make up a run of free clusters.
  [[nodiscard]] static ClusterRange last_chunk(std::uint32_t start, std::uint32_t end) {
    while (true) {
      const std::uint32_t aligned = start == 0 ? UINT32_MAX : start & -start;
      const std::uint32_t count = std::min(aligned, std::bit_floor(end - start));
      if (start + count == end) return {start, count};
      start += count;
    }
  }
  // Whether the clusters are free on disk and no event has named them yet.
  [[nodiscard]] bool is_new(std::uint32_t group, std::int64_t start, std::uint64_t len) const {
    if (len == 0 || !geometry_.holds(group, start, len)) return false;
    return !boost::icl::intersects(touched_, span(group, start, len)) &&
           bitmap::all_clear(source_.groups[group].words, static_cast<std::uint32_t>(start),
                             static_cast<std::uint32_t>(len));
  }

  // Records the goal of each stream's first search, since that goal was set before the trace.
  void note_stream(const Event& e) {
    if ((e.flags & mb::stream_alloc) == 0 || !streams_seen_.insert(e.ino % kStreams).second) return;
    if (e.goal_ex.group >= geometry_.groups) return;
    const bool has_start = geometry_.holds(e.goal_ex.group, e.goal_ex.start, 1);
    streams_.push_back(
        {e.ino, e.goal_ex.group, has_start ? static_cast<std::uint32_t>(e.goal_ex.start) : 0});
  }

  void see_hit(const Event& e) {
    const trace::RecordedExtent& r = e.result;
    if (is_new(r.group, r.start, r.len)) {
      PlantedPrealloc pa;
      pa.group = r.group;
      pa.start = static_cast<std::uint32_t>(r.start);
      pa.len = r.len;
      const std::uint64_t end = e.orig.logical + geometry_.to_blocks(e.orig.len);
      const Asked asked = asked_by(e);
      const bool small = std::max(end, asked.size) <= stream_req_;
      pa.kind = small ? Prealloc::Kind::group : Prealloc::Kind::inode;
      pa.owner = small ? asked.cpu : e.ino;
      pa.logical = small ? 0 : e.orig.logical;
      join(pa);
      if (!small) ends_at_[geometry_.block_of(pa.group, pa.start)] = {e.ino, pa.logical};
    }
    touch(r.group, r.start, r.len);
  }

  // The best known size of a file, in blocks.
  [[nodiscard]] std::uint64_t size_of(const Event& request) const {
    const std::uint64_t to_the_right =
        request.right_block != 0 ? request.right_logical + std::uint64_t{1} : 0;
    if (!request.has_inputs) return to_the_right;
    return std::max(to_the_right, geometry_.blocks_of_bytes(request.i_size));
  }
  // Returns the request that a preallocation hit served. The thread may have waited for the
  // preallocations and woken on another CPU, so the CPU of the hit may differ from the request's.
  [[nodiscard]] Asked asked_by(const Event& hit) const {
    const auto asked = asked_.find(hit.pid);
    return asked == asked_.end() ? Asked{hit.cpu, 0} : asked->second;
  }

  // Records where preallocations of the file may be: one begins right after blocks of the file, or
  // ends right before later blocks.
  void note_neighbours(const Event& e) {
    if (e.left_block != 0 && is_new_at(e.left_block + 1))
      begins_at_[e.left_block + 1] = {e.ino, e.left_logical + 1};
    if (e.right_block != 0 && is_new_at(e.right_block - 1))
      ends_at_[e.right_block] = {e.ino, e.right_logical};
    // In a file without extents, the goal is the nearest block of the file before the request (6.1:
    // ext4_find_near). If several requests have that goal, the one with the lowest file block is
    // nearest to the goal block. It is assumed to follow that block directly.
    if (e.left_block == 0 && e.right_block == 0 && e.logical > 0 && is_old_at(e.goal)) {
      const auto logical =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(e.logical - 1, kNowhereInFile));
      InFile& place = before_.try_emplace(e.goal, InFile{e.ino, logical}).first->second;
      if (place.ino == e.ino) place.logical = std::min(place.logical, logical);
    }
  }
  [[nodiscard]] bool is_new_at(std::uint64_t block) const {
    return geometry_.holds_block(block) &&
           is_new(geometry_.group_of(block), geometry_.cluster_in_group(block), 1);
  }
  [[nodiscard]] bool is_old_at(std::uint64_t block) const {
    if (!geometry_.holds_block(block)) return false;
    const std::uint32_t group = geometry_.group_of(block);
    return bitmap::test(source_.groups[group].words, geometry_.cluster_in_group(block));
  }
  [[nodiscard]] std::uint32_t nowhere() const {
    return kNowhereInFile - geometry_.blocks_per_group;
  }
  [[nodiscard]] bool is_placed(const PlantedPrealloc& pa) const { return pa.logical < nowhere(); }
  // Whether the clusters [first, end) can belong to `pa`: all clusters between them and `pa` are in
  // use, and the preallocation would not be too long.
  [[nodiscard]] bool reaches(const PlantedPrealloc& pa, std::uint32_t first,
                             std::uint32_t end) const {
    const std::uint32_t behind = pa.start + pa.len;
    return first >= behind && end - pa.start <= kLongestPrealloc &&
           bitmap::all_set(source_.groups[pa.group].words, behind, first - behind);
  }
  // Extends a preallocation to later blocks of the same file if no cluster in between is free,
  // since such blocks came from the same preallocation.
  void reach_to_old(PlantedPrealloc& pa) const {
    if (pa.kind != Prealloc::Kind::inode) return;
    auto it = before_.lower_bound(geometry_.block_of(pa.group, pa.start));
    for (; it != before_.end() && geometry_.group_of(it->first) == pa.group; ++it) {
      const auto& [ino, logical] = it->second;
      const std::uint32_t last = geometry_.cluster_in_group(it->first);
      if (!reaches(pa, last + 1, last + 1)) break;
      const std::uint32_t clusters = last - pa.start;
      const std::uint64_t blocks = geometry_.to_blocks(clusters);
      const bool fits = logical >= blocks && (!is_placed(pa) || pa.logical == logical - blocks);
      if (ino != pa.owner || !fits) continue;
      pa.logical = logical - static_cast<std::uint32_t>(blocks);
      pa.len = clusters + 1;
    }
  }
  // Merges pieces of one inode that are contiguous both in the file and on disk, since they are one
  // preallocation.
  void merge_pieces() {
    std::vector<PlantedPrealloc*> order;
    for (PlantedPrealloc& pa : found_)
      if (pa.kind == Prealloc::Kind::inode && is_placed(pa)) order.push_back(&pa);
    const auto place = [](const PlantedPrealloc* pa) {
      return std::tuple(pa->owner, pa->group, pa->start, pa->len);
    };
    std::ranges::sort(order, {}, place);
    PlantedPrealloc* last = nullptr;
    for (PlantedPrealloc* pa : order) {
      const bool same =
          last != nullptr && last->owner == pa->owner && last->group == pa->group &&
          last->logical + geometry_.to_blocks(pa->start - last->start) == pa->logical &&
          reaches(*last, pa->start, pa->start + pa->len);
      if (!same) {
        last = pa;
        continue;
      }
      last->len = pa->start + pa->len - last->start;
      pa->len = 0;
    }
    std::erase_if(found_, [](const PlantedPrealloc& pa) { return pa.len == 0; });
  }
  // The first file block of an inode preallocation that is released.
  [[nodiscard]] std::uint32_t logical_of(const Event& release) const {
    const auto begin = begins_at_.find(release.block);
    if (begin != begins_at_.end() && begin->second.ino == release.ino) return begin->second.logical;
    const std::uint64_t blocks = geometry_.to_blocks(release.count);
    const auto end = ends_at_.find(release.block + blocks);
    if (end != ends_at_.end() && end->second.ino == release.ino && end->second.logical >= blocks)
      return end->second.logical - static_cast<std::uint32_t>(blocks);
    return nowhere();
  }

  void see_release(const Event& e, Prealloc::Kind kind) {
    shows_releases_ = true;
    if (!geometry_.holds_block(e.block)) return;
    PlantedPrealloc pa;
    pa.kind = kind;
    pa.group = geometry_.group_of(e.block);
    pa.start = geometry_.cluster_in_group(e.block);
    // The event counts clusters for both inode and group preallocations.
    pa.len = static_cast<std::uint32_t>(std::min<std::uint64_t>(e.count, UINT32_MAX));
    pa.owner = kind == Prealloc::Kind::inode ? e.ino : PlantedPrealloc::kNobody;
    pa.logical = logical_of(e);
    if (is_new(pa.group, pa.start, pa.len)) join(pa);
    touch(pa.group, pa.start, pa.len);
  }

  // Adds a piece of a preallocation. If it directly follows a piece of the same owner, both belong
  // to the same preallocation.
  void join(const PlantedPrealloc& piece) {
    shown_ += piece.len;
    const auto end = by_end_.find(span(piece.group, piece.start, piece.len).lower());
    if (end != by_end_.end()) {
      PlantedPrealloc& pa = found_[end->second];
      const bool same_owner = piece.kind == Prealloc::Kind::group || piece.owner == pa.owner;
      if (pa.kind == piece.kind && pa.group == piece.group && same_owner) {
        pa.len += piece.len;
        const std::size_t index = end->second;
        by_end_.erase(end);
        by_end_[span(pa.group, pa.start, pa.len).upper()] = index;
        return;
      }
    }
    by_end_[span(piece.group, piece.start, piece.len).upper()] = found_.size();
    found_.push_back(piece);
  }

  // In clusters. Normalisation limits goals to 8 MiB (6.1: ext4_mb_normalize_request).
  static constexpr std::uint32_t kLongestPrealloc = 2048;

  // More than the number of stream goals of any kernel. One inode for each residue modulo this
  // number is enough.
  static constexpr std::uint64_t kStreams = 1 << 16;

  const Geometry& geometry_;
  const state::Source& source_;
  std::uint64_t stream_req_;
  Clusters touched_;
  Clusters known_free_;
  std::unordered_map<std::uint32_t, std::vector<ClusterRange>> not_all_free_;  // by group
  std::uint64_t shown_ = 0;
  bool shows_releases_ = false;
  std::unordered_map<std::uint32_t, Asked> asked_;  // the last request of each thread
  // By block: the blocks at which a file's preallocation may begin, and the blocks that may
  // directly follow a preallocation.
  std::unordered_map<std::uint64_t, InFile> begins_at_;
  std::unordered_map<std::uint64_t, InFile> ends_at_;
  std::map<std::uint64_t, InFile> before_;  // by block: blocks allocated before the trace
  std::vector<PlantedPrealloc> found_;
  // Indices into found_, by the cluster after the preallocation.
  std::unordered_map<std::uint64_t, std::size_t> by_end_;
  std::vector<allocator::PlantedStreamGoal> streams_;
  std::unordered_set<std::uint64_t> streams_seen_;
};

// A group's bitmap, with its known preallocations marked as in use.
std::vector<std::uint64_t> words_with(const state::Source& source, std::uint32_t group,
                                      const std::vector<PlantedPrealloc*>& preallocs) {
  const auto& image = source.groups[group].words;
  std::vector<std::uint64_t> words(image.begin(), image.end());
  for (const PlantedPrealloc* pa : preallocs) bitmap::set_range(words, pa->start, pa->len);
  return words;
}

// The remainders of CPUs' preallocations in a group. The trace shows only those clusters of a
// preallocation that it uses. The remainder, which it does not use, extends to the end of the chunk
// from which the preallocation was cut.
class Rests {
 public:
  Rests(const Geometry& geometry, const std::vector<std::uint64_t>& words,
        const std::vector<std::uint64_t>& known_free,
        const std::vector<PlantedPrealloc*>& preallocs)
      : words_(words) {
    const std::uint32_t step = cpu_prealloc(geometry);
    for (PlantedPrealloc* pa : preallocs) {
      const std::uint32_t from = pa->start + pa->len, to = (from + step - 1) / step * step;
      if (pa->kind != Prealloc::Kind::group || pa->owner == PlantedPrealloc::kNobody ||
          to == from || to > geometry.clusters_per_group ||
          !bitmap::all_clear(words_, from, to - from) ||
          !bitmap::all_clear(known_free, from, to - from))
        continue;
      bitmap::set_range(words_, from, to - from);
      rests_.emplace_back(pa, to - from);
    }
  }
  [[nodiscard]] bool empty() const { return rests_.empty(); }
  // The group's bitmap with the remainders in use.
  [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }
  // Adds the remainders to their preallocations. Returns their number of clusters.
  std::uint64_t take() {
    std::uint64_t clusters = 0;
    for (const auto& [pa, rest] : rests_) {
      pa->len += rest;
      clusters += rest;
    }
    return clusters;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::pair<PlantedPrealloc*, std::uint32_t>> rests_;
};

using ByGroup = std::unordered_map<std::uint32_t, std::vector<PlantedPrealloc*>>;

ByGroup by_group(std::vector<PlantedPrealloc>& preallocs) {
  ByGroup out;
  for (PlantedPrealloc& pa : preallocs) out[pa.group].push_back(&pa);
  return out;
}

bool is_readable(const state::Source& source, std::uint32_t group) {
  return group < source.geometry.groups && !source.groups[group].corrupt;
}

// Whether the bitmaps and these preallocations explain the counters of all groups.
bool explain(const state::Source& source, ByGroup preallocs,
             const std::vector<state::MbGroup>& groups) {
  return std::ranges::all_of(groups, [&](const state::MbGroup& shown) {
    return !is_readable(source, shown.number) ||
           counts_of(source.geometry, words_with(source, shown.number, preallocs[shown.number])) ==
               counts_of(shown);
  });
}

// Takes the preallocations and stream goals that were read from the kernel's memory.
Status read_memory(const state::Source& source, const Checkpoint& memory, WarmStart& out) {
  const Geometry& geometry = source.geometry;
  allocator::Planted planted = memory.planted();
  std::uint64_t clusters = 0;
  for (const PlantedPrealloc& pa : planted.preallocs) {
    if (pa.len == 0 || !geometry.holds(pa.group, static_cast<std::int64_t>(pa.start), pa.len))
      return error("the preallocation at cluster {} of group {} does not exist in the start image",
                   pa.start, pa.group);
    bitmap::for_each_clear_run(
        source.groups[pa.group].words, pa.start, pa.start + pa.len,
        [&](std::uint32_t start, std::uint32_t end) { clusters += end - start; });
  }
  for (const allocator::PlantedStreamGoal& goal : planted.streams)
    if (!geometry.holds(goal.group, static_cast<std::int64_t>(goal.start), 1))
      return error("the goal of stream {} does not exist in the start image", goal.ino);
  out.read_from_memory = clusters;
  out.preallocs = std::move(planted.preallocs);
  out.streams = std::move(planted.streams);
  return {};
}

}  // namespace

Result<WarmStart> deduce_warm_start(const state::Source& source, trace::EventSource& events,
                                    const std::vector<state::MbGroup>& groups,
                                    std::uint64_t stream_req, const Checkpoint* memory) {
  WarmStart out;
  out.groups = groups;
  if (memory != nullptr) {
    E4R_CHECK(read_memory(source, *memory, out));
    if (explain(source, by_group(out.preallocs), groups)) return out;
  }
  Evidence evidence(source, stream_req);
  for (;;) {
    E4R_TRY(const auto batch, events.next());
    if (batch.empty()) break;
    for (const Event& e : batch) evidence.see(e);
  }
  if (memory == nullptr) {
    out.shown_by_trace = evidence.shown();
    out.preallocs = evidence.take_preallocs();
    out.streams = evidence.take_streams();
  }
  ByGroup of_group = by_group(out.preallocs);
  for (const state::MbGroup& shown : groups) {
    if (!is_readable(source, shown.number)) continue;
    const std::vector<PlantedPrealloc*>& known = of_group[shown.number];
    const auto words = words_with(source, shown.number, known);
    const FreeEvidence free = evidence.evidence_of(shown.number);
    Rests rests(source.geometry, words, free.known_free,
                memory == nullptr ? known : std::vector<PlantedPrealloc*>());
    HiddenRuns hidden = find_hidden_runs(source.geometry, rests.words(), shown, free);
    if (hidden.explained) {
      out.found_by_counters += rests.take();
    } else if (!rests.empty()) {
      hidden = find_hidden_runs(source.geometry, words, shown, free);
    }
    if (!hidden.explained && !evidence.shows_releases())
      hidden = find_hidden_runs(source.geometry, words, shown);
    if (!hidden.answers.empty()) {
      out.hidden.push_back({shown.number, 0, std::move(hidden.answers)});
      for (const ClusterRange& run : out.hidden.back().runs()) out.found_by_counters += run.count;
    }
    out.not_found += hidden.not_found;
    out.groups_not_explained += hidden.explained ? 0 : 1;
  }
  return out;
}

}  // namespace e4r::replay
