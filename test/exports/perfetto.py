#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares `replay --perfetto` with the table and the JSON document of the same run, field by field.

perfetto.py E4REPLAY CAPTURES: the numbers and types of fields are repeated here from Perfetto's reference of
the format; any other field is a fault. The rows come from --decisions, which another test compares with the
trace.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# For each message: field, number, type; [] means repeated.
FORMAT = {
    "Trace": [("packet", 1, "[]TracePacket")],
    "TracePacket": [("timestamp", 8, "uint64"), ("trusted_packet_sequence_id", 10, "uint32"),
                    ("track_event", 11, "TrackEvent"), ("interned_data", 12, "InternedData"),
                    ("sequence_flags", 13, "uint32"), ("track_descriptor", 60, "TrackDescriptor")],
    "InternedData": [("event_categories", 1, "[]Name"), ("event_names", 2, "[]Name"),
                     ("debug_annotation_names", 3, "[]Name")],
    "Name": [("iid", 1, "uint64"), ("name", 2, "string")],
    "TrackDescriptor": [("uuid", 1, "uint64"), ("name", 2, "string"),
                        ("process", 3, "ProcessDescriptor"), ("parent_uuid", 5, "uint64"),
                        ("counter", 8, "CounterDescriptor")],
    "ProcessDescriptor": [("pid", 1, "int32"), ("process_name", 6, "string")],
    "CounterDescriptor": [("unit", 3, "int32")],
    "TrackEvent": [("category_iids", 3, "[]uint64"), ("debug_annotations", 4, "[]DebugAnnotation"),
                   ("type", 9, "int32"), ("name_iid", 10, "uint64"), ("track_uuid", 11, "uint64"),
                   ("counter_value", 30, "int64")],
    "DebugAnnotation": [("name_iid", 1, "uint64"), ("uint_value", 3, "uint64")],
}
BEGIN, END, COUNTER = 1, 2, 4
STATE_CLEARED, NEEDS_STATE = 1, 2
UNIT_COUNT = 2
faults = []


def check(what, made, expected):
    if made != expected:
        faults.append(f"{what}: {made!r}, expected {expected!r}")


def trace_class():
    file = descriptor_pb2.FileDescriptorProto(name="reference.proto", package="reference")
    for name, fields in FORMAT.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            many, kind = kind.startswith("[]"), kind.removeprefix("[]")
            made = message.field.add(name=field, number=number, label=3 if many else 1)
            if kind in FORMAT:
                made.type, made.type_name = made.TYPE_MESSAGE, f".reference.{kind}"
            else:
                made.type = getattr(made, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(
        pool.FindMessageTypeByName("reference.Trace"))


def known_only(message, where):
    check(f"{where}: unknown fields", len(message.UnknownFields()), 0)
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.label == field.LABEL_REPEATED else (value,):
                known_only(one, f"{where}.{field.name}")


class Timeline:
    """The tracks, slices and values of a trace."""

    def __init__(self, path):
        trace = trace_class()()
        trace.ParseFromString(path.read_bytes())
        self.names, self.tracks, self.slices, self.values = {}, {}, {}, {}
        for number, packet in enumerate(trace.packet):
            where = f"packet {number}"
            known_only(packet, where)
            check(f"{where}: sequence", packet.trusted_packet_sequence_id, 1)
            check(f"{where}: flags", packet.sequence_flags,
                  NEEDS_STATE if number else STATE_CLEARED)
            if number == 0:
                for field, names in packet.interned_data.ListFields():
                    self.names[field.name] = {name.iid: name.name for name in names}
            elif packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                check(f"{where}: uuid taken or 0", track.uuid in self.tracks or track.uuid == 0, False)
                self.tracks[track.uuid] = track
            else:
                self.add(packet, where)
        for uuid, slices in self.slices.items():
            check(f"track {uuid}: an open slice", len(slices[-1]), 3)

    def add(self, packet, where):
        event = packet.track_event
        check(f"{where}: track declared", event.track_uuid in self.tracks, True)
        if event.type == COUNTER:
            check(f"{where}: of a counter", self.tracks[event.track_uuid].counter.unit, UNIT_COUNT)
            self.values.setdefault(event.track_uuid, []).append(
                (packet.timestamp, event.counter_value))
            return
        slices = self.slices.setdefault(event.track_uuid, [])
        if event.type == BEGIN:
            check(f"{where}: ends before it begins", not slices or
                  (len(slices[-1]) == 3 and slices[-1][2] <= packet.timestamp), True)
            slices.append([packet.timestamp, event])
        else:
            check(f"{where}: type", event.type, END)
            slices[-1].append(packet.timestamp)

    def annotations(self, event):
        names = self.names["debug_annotation_names"]
        return {names[one.name_iid]: str(one.uint_value) for one in event.debug_annotations}


def duration(row):
    """A model's slice is as long as its steps, the recorded kernel's as long as its answer took (see the manual)."""
    if row["run"] == "0":
        return int(row["answered_after_ns"] or 0)
    return int(row["code_ns"] or 0) or int(row["groups_considered"]) + int(row["extents_examined"])


def nanoseconds(text):
    seconds, fraction = text.split(".")
    return int(seconds) * 10**9 + int(fraction)


def check_slices(timeline, rows, where):
    processes = {track.process.pid: uuid for uuid, track in timeline.tracks.items()
                 if track.HasField("process")}
    of = {}
    for row in rows:
        of.setdefault((int(row["run"]), row["pid"]), []).append(row)
    threads = {(timeline.tracks[uuid].parent_uuid, timeline.tracks[uuid].name): slices
               for uuid, slices in timeline.slices.items()}
    check(f"{where}: threads", len(threads), len(of))
    for (run, pid), expected in of.items():
        process = processes[run + 1]
        check(f"{where}: process of run {run}", timeline.tracks[process].process.process_name,
              expected[0]["policy"])
        slices = threads[process, f"thread {pid}"]
        check(f"{where}: slices of thread {pid}", len(slices), len(expected))
        free_from = 0
        for (begin, event, end), row in zip(slices, expected):
            which = f"{where}: run {run}, decision {row['decision']}"
            check(f"{which}: begin", begin, max(nanoseconds(row["time_s"]), free_from))
            check(f"{which}: duration", end - begin, duration(row))
            check(f"{which}: name", timeline.names["event_names"][event.name_iid],
                  row["criterion"] or row["served_by"])
            check(f"{which}: category",
                  [timeline.names["event_categories"][iid] for iid in event.category_iids],
                  [row["kind"]])
            check(f"{which}: annotations", timeline.annotations(event),
                  {name: cell for name, cell in row.items() if cell.isdigit() and
                   name not in ("run", "pid")})
            free_from = end
    return processes


def blocks(extents):
    return sum(bucket["blocks"] for bucket in extents["histogram"])


def check_counters(timeline, rows, document, processes, where):
    """Compares the counters. Only for images with clusters of one block."""
    followed = 0
    columns = [document["recorded"], *document["runs"]]
    for run, column in enumerate(columns):
        tracks = {track.name: uuid for uuid, track in timeline.tracks.items()
                  if track.parent_uuid == processes[run + 1] and track.HasField("counter")}
        check(f"{where}: counters", sorted(tracks), ["free clusters", "free extents"])
        own = [row for row in rows if row["run"] == str(run)]
        clusters = timeline.values[tracks["free clusters"]]
        extents = timeline.values[tracks["free extents"]]
        check(f"{where}: steps", 200 < len(clusters) == len(extents) < 600, True)
        check(f"{where}: at the start", clusters[0],
              (nanoseconds(own[0]["time_s"]), blocks(document["image"]["free_extents"])))
        check(f"{where}: at the end", clusters[-1],
              (nanoseconds(own[-1]["time_s"]), blocks(column["free_extents"])))
        # The counters count an extent that continues in the next group in both groups.
        check(f"{where}: extents", extents[0][1] >= document["image"]["free_extents"]["count"] and
              extents[-1][1] >= column["free_extents"]["count"], True)
        if column["freed_clusters"] == 0 and column["extra_requests"] == 0:
            followed += check_course(own, clusters, f"{where}: run {run}")
    return followed


def check_course(rows, values, where):
    """Checks that free space falls by the allocated blocks if there are no frees."""
    decisions = int(rows[-1]["decision"])
    every = decisions // 256
    left = values[0][1]
    at = 1
    for row in rows:
        left -= int(row["len_clusters"])
        if int(row["decision"]) % every == 0:
            check(f"{where}: after decision {row['decision']}", values[at],
                  (nanoseconds(row["time_s"]), left))
            at += 1
    check(f"{where}: samples", at, len(values) - 1)
    return 1


def main(e4replay, captures):
    cases = (("churn-4k.img", "churn-4k.trace.zst", "legacy,linux-7.3,legacy"),
             ("fill-4k.img", "fill-4k-enospc.e4t.zst", "legacy"),
             ("smallfiles-256g.img", "smallfiles-1000-trim6.e4t.zst", "cr1.5"))
    followed = 0
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        for image, trace, policies in cases:
            (work / "made.csv").unlink(missing_ok=True)
            done = subprocess.run(
                [e4replay, "replay", image, trace, "-p", policies, "--perfetto", work / "made.pftrace",
                 "--decisions", work / "made.csv", "--json", work / "made.json"],
                capture_output=True, cwd=captures, check=False)
            if done.returncode != 0:
                sys.exit(f"{trace}: status {done.returncode}: {done.stderr.decode()}")
            with open(work / "made.csv", newline="") as text:
                rows = list(csv.DictReader(text))
            document = json.loads((work / "made.json").read_text())
            timeline = Timeline(work / "made.pftrace")
            processes = check_slices(timeline, rows, trace)
            followed += check_counters(timeline, rows, document, processes, trace)
    check("captures without frees", followed > 0, True)
    for fault in faults[:20]:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
