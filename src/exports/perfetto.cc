// SPDX-License-Identifier: GPL-2.0-or-later
#include "exports/decisions.h"

#include <perfetto.pb.h>

#include <algorithm>
#include <unordered_map>

namespace e4r::exports {
namespace {

using replay::DecisionRow;
using replay::ServedBy;

// IDs of interned names. The names of slices are the criteria, followed by the ways of serving a
// request without a search. Categories are data and metadata. Annotations are columns.
constexpr std::uint64_t kData = 1;
constexpr std::uint64_t kMetadata = 2;

std::uint64_t name_of(const DecisionRow& row) {
  if (row.served == ServedBy::search) return 1 + static_cast<std::uint64_t>(row.criterion);
  return 1 + mb::kCriteria + static_cast<std::uint64_t>(row.served);
}

// Track IDs: a process for each series, and below it counters and a track for each thread.
std::uint64_t process_of(const Series& series) {
  return (std::uint64_t{series.run} + 1) << 34;
}
std::uint64_t clusters_of(const Series& series) {
  return process_of(series) + 1;
}
std::uint64_t extents_of(const Series& series) {
  return process_of(series) + 2;
}
std::uint64_t thread_of(const Series& series, std::uint32_t pid) {
  return process_of(series) + (std::uint64_t{1} << 33) + pid;
}

// Collects packets and writes them to the file in batches, which may end after any packet.
class Packets {
 public:
  explicit Packets(Output& out) : out_(out) {}

  [[nodiscard]] Result<pb::TracePacket*> add() {
    constexpr int kAtOnce = 4096;
    if (trace_.packet_size() == kAtOnce) E4R_CHECK(flush());
    pb::TracePacket* packet = trace_.add_packet();
    packet->set_trusted_packet_sequence_id(1);
    packet->set_sequence_flags(begun_ ? 2 : 1);
    begun_ = true;
    return packet;
  }
  [[nodiscard]] Status flush() {
    if (!trace_.SerializeToString(&bytes_)) return error("{}: protobuf failed", out_.name());
    trace_.Clear();
    return out_.write(bytes_);
  }

 private:
  Output& out_;
  pb::Trace trace_;
  std::string bytes_;  // scratch
  bool begun_ = false;
};

void add_name(pb::Name* into, std::uint64_t iid, std::string_view name) {
  into->set_iid(iid);
  into->set_name(std::string(name));
}

Status add_names(Packets& packets) {
  E4R_TRY(pb::TracePacket * packet, packets.add());
  pb::InternedData* names = packet->mutable_interned_data();
  for (std::uint64_t i = 0; i < mb::kCriteria; ++i)
    add_name(names->add_event_names(), 1 + i, mb::criterion_name(static_cast<mb::Criterion>(i)));
  for (const ServedBy served : {ServedBy::nothing, ServedBy::preallocation, ServedBy::goal})
    add_name(names->add_event_names(), 1 + mb::kCriteria + static_cast<std::uint64_t>(served),
             served_text(served));
  add_name(names->add_event_categories(), kData, "data");
  add_name(names->add_event_categories(), kMetadata, "metadata");
  std::uint64_t iid = 0;
  for (const DecisionColumn& column : columns())
    add_name(names->add_debug_annotation_names(), ++iid, column.name);
  return {};
}

Status add_track(Packets& packets, std::uint64_t uuid, std::uint64_t parent, std::string_view name,
                 bool counter) {
  E4R_TRY(pb::TracePacket * packet, packets.add());
  pb::TrackDescriptor* track = packet->mutable_track_descriptor();
  track->set_uuid(uuid);
  track->set_parent_uuid(parent);
  track->set_name(std::string(name));
  if (counter) track->mutable_counter()->set_unit(pb::CounterDescriptor::UNIT_COUNT);
  return {};
}

Status add_process(Packets& packets, const Series& series) {
  E4R_TRY(pb::TracePacket * packet, packets.add());
  pb::TrackDescriptor* track = packet->mutable_track_descriptor();
  track->set_uuid(process_of(series));
  track->mutable_process()->set_pid(static_cast<std::int32_t>(series.run + 1));
  track->mutable_process()->set_process_name(std::string(series.name));
  return {};
}

Result<pb::TrackEvent*> add_event(Packets& packets, std::uint64_t time_ns, std::uint64_t track,
                                  pb::TrackEvent::Type type) {
  E4R_TRY(pb::TracePacket * packet, packets.add());
  packet->set_timestamp(time_ns);
  pb::TrackEvent* event = packet->mutable_track_event();
  event->set_type(type);
  event->set_track_uuid(track);
  return event;
}

// Adds all values of the row that the track does not show.
void annotate(pb::TrackEvent& event, const Series& series, const DecisionRow& row) {
  std::uint64_t iid = 0;
  for (const DecisionColumn& column : columns()) {
    ++iid;
    if (column.name == "run" || column.name == "pid") continue;
    const Cell cell = column.cell(series, row);
    const auto* number = std::get_if<std::uint64_t>(&cell);
    if (number == nullptr) continue;
    pb::DebugAnnotation* annotation = event.add_debug_annotations();
    annotation->set_name_iid(iid);
    annotation->set_uint_value(*number);
  }
}

std::uint64_t slice_ns(const Series& series, const DecisionRow& row) {
  if (series.recorded()) return row.answered_ns == 0 ? 0 : row.answered_ns - row.time_ns;
  return row.code_ns != 0 ? row.code_ns : row.considered.value_or(0) + row.extents_examined;
}

Status add_slices(Packets& packets, const Series& series) {
  std::unordered_map<std::uint32_t, std::uint64_t> ends;  // end of the last slice, by thread
  for (const DecisionRow& row : series.rows->all()) {
    const std::uint64_t track = thread_of(series, row.pid);
    const auto [end, first] = ends.try_emplace(row.pid, 0);
    if (first)
      E4R_CHECK(add_track(packets, track, process_of(series), fmt::format("thread {}", row.pid),
                          /*counter=*/false));
    const std::uint64_t begin = std::max(row.time_ns, end->second);
    end->second = begin + slice_ns(series, row);
    E4R_TRY(pb::TrackEvent * event,
            add_event(packets, begin, track, pb::TrackEvent::TYPE_SLICE_BEGIN));
    event->set_name_iid(name_of(row));
    event->add_category_iids(row.data ? kData : kMetadata);
    annotate(*event, series, row);
    E4R_CHECK(add_event(packets, end->second, track, pb::TrackEvent::TYPE_SLICE_END));
  }
  return {};
}

struct Totals {
  explicit Totals(const std::vector<stats::GroupFree>& groups) {
    for (const stats::GroupFree& group : groups) add(group, 1);
  }
  std::int64_t clusters = 0, extents = 0;
  void add(const stats::GroupFree& group, int sign) {
    clusters += sign * std::int64_t{group.clusters};
    extents += sign * std::int64_t{group.runs};
  }
};

Status add_totals(Packets& packets, const Series& series, std::uint64_t time_ns,
                  const Totals& now) {
  E4R_TRY(pb::TrackEvent * clusters,
          add_event(packets, time_ns, clusters_of(series), pb::TrackEvent::TYPE_COUNTER));
  clusters->set_counter_value(now.clusters);
  E4R_TRY(pb::TrackEvent * extents,
          add_event(packets, time_ns, extents_of(series), pb::TrackEvent::TYPE_COUNTER));
  extents->set_counter_value(now.extents);
  return {};
}

// Returns the time of the decision's request. If the decision has no row, returns the time of the
// next row.
std::uint64_t time_of(const std::vector<DecisionRow>& rows, std::uint64_t decision) {
  const auto at = std::partition_point(
      rows.begin(), rows.end(), [&](const DecisionRow& row) { return row.decision < decision; });
  return at == rows.end() ? rows.back().time_ns : at->time_ns;
}

Status add_counters(Packets& packets, const Timeline& timeline,
                    const std::vector<stats::GroupFree>& start) {
  const Series& series = timeline.series;
  const std::vector<DecisionRow>& rows = series.rows->all();
  if (timeline.space == nullptr || rows.empty()) return {};
  E4R_CHECK(add_track(packets, clusters_of(series), process_of(series), "free clusters",
                      /*counter=*/true));
  E4R_CHECK(add_track(packets, extents_of(series), process_of(series), "free extents",
                      /*counter=*/true));
  std::vector<stats::GroupFree> groups = start;
  Totals now(start);
  E4R_CHECK(add_totals(packets, series, rows.front().time_ns, now));
  for (const stats::SpaceHistory::Frame& frame : timeline.space->frames()) {
    for (const stats::SpaceHistory::Change& change : frame.changes) {
      now.add(groups[change.group], -1);
      groups[change.group] = change.now;
      now.add(change.now, 1);
    }
    E4R_CHECK(add_totals(packets, series, time_of(rows, frame.decision), now));
  }
  if (timeline.end == nullptr) return {};
  return add_totals(packets, series, rows.back().time_ns, Totals(*timeline.end));
}

}  // namespace

Status check_perfetto() {
  return {};
}

Status write_perfetto(const OutputName& name, std::span<const Timeline> timelines,
                      const std::vector<stats::GroupFree>& start) {
  E4R_TRY(Output out, Output::create(name));
  Packets packets(out);
  E4R_CHECK(add_names(packets));
  for (const Timeline& timeline : timelines) {
    E4R_CHECK(add_process(packets, timeline.series));
    E4R_CHECK(add_counters(packets, timeline, start));
    E4R_CHECK(add_slices(packets, timeline.series));
  }
  E4R_CHECK(packets.flush());
  return out.commit();
}

}  // namespace e4r::exports
