#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the recorded kernel's column of `replay` with the column of its model, on the bundled
captures.

recorded_column.py E4REPLAY CAPTURES TRACES: if the model agrees with every decision of a capture,
every figure of the recorded kernel must equal the model's figure. That includes figures of files, free space and
searches, whether they come from the kernel's mb_stats or from the trace. The free space must also agree with what
e2freefrag found on the disk.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# These counters of searches can be computed from the closing events of a trace. mb_stats has more counters.
SHOWN_BY_TRACE = {"mb_stats/" + name for name in (
    "reqs", "success", "groups_scanned", "extents_scanned", "goal_hits")}
# In these captures, two writers run while discards are sent. A free-running replay does not model which ranges are in
# use meanwhile (docs/fidelity.md).
NOT_ALONE = {"discard-beside", "trim-beside"}
# For some kernels, the model does not count the groups considered in CR1 as the kernel does (docs/fidelity.md).
CR1 = {"groups_considered", "mb_stats/cr1_stats/groups_considered"}
# When a kernel skips a group because its lock is held, it may already have counted the group.
LOCKED = CR1 | {"mb_stats/cr0_stats/groups_considered"}
# Where several skips explain a decision, they may lie in different criteria.
SKIPS = LOCKED | {f"mb_stats/{name}" for name in (
    "best_avail_stats/groups_considered", "cr2_stats/groups_considered", "cr3_stats/groups_considered",
    "cr2_stats/extents_scanned", "cr3_stats/extents_scanned")}
MISCOUNTED = {"linux618-churn-4k": CR1, "churn-4k-6.5": CR1, "linear4-4k-6.14": CR1, "storm-6.12": LOCKED,
              "storm-6.12-probes": CR1, "ring-6.18": SKIPS}


def figures(column, path=""):
    """Yields all figures of a column by path."""
    for key, value in column.items():
        if isinstance(value, dict):
            yield from figures(value, f"{path}{key}/")
        elif isinstance(value, (int, float)):
            yield path + key, value
        elif key == "histogram":
            yield path + key, value


def replay(e4replay, args):
    done = subprocess.run([e4replay, "replay", *map(str, args), "--json", "-"], text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"replay {args}: status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def bundled(captures, traces):
    """Yields (name, files to replay) for each bundled capture."""
    for line in (traces / "MANIFEST").read_text().splitlines():
        if line.startswith("capture "):
            _, name, image, *_ = line.split()
            yield name, [captures / f"{image}.img", next(captures.glob(f"{name}.*.zst"))]
        elif line.startswith("recorded "):
            name = line.split()[1]
            yield name, [traces / f"{name}.e4c"]


def own_figures(run):
    """Returns the figures that a recorded kernel can have. Leaves out settings and times of the replay."""
    none_of = ("tunables/", "ready_s", "elapsed_s", "requests_per_s", "verified")
    return {key: value for key, value in figures(run) if not key.startswith(none_of)}


def compare(name, column, run, faults):
    ours, kernels = own_figures(run), own_figures(column)
    common = ours.keys() & kernels.keys()
    differing = {key for key in common if ours[key] != kernels[key]}
    for key in sorted(differing ^ MISCOUNTED.get(name, set())):
        faults.append(f"{name}: {key}: recorded {kernels[key]}, {run['policy']} {ours[key]}")
    missing = {key for key in ours.keys() - kernels.keys() if not key.startswith("mb_stats/")}
    if column["searches_from"] == "trace":
        missing -= {"groups_considered"}
    if missing:
        faults.append(f"{name}: the recorded kernel has no {sorted(missing)}")
    return len(common)


def end_of(e4replay, capture, what):
    """Returns one of the texts that a capture stores about the end of the recording."""
    done = subprocess.run([e4replay, "info", capture, "--json", "-"], text=True, capture_output=True, check=True)
    return json.loads(done.stdout)["texts"][f"end/{what}"]


def without_stats(e4replay, name, inputs, column, faults):
    """Checks that without the kernel's mb_stats there are fewer figures, and no different ones."""
    policy = column["policy"]
    kernels = own_figures(column)
    with tempfile.TemporaryDirectory() as work:
        alone = pathlib.Path(work) / inputs[1].name
        alone.symlink_to(inputs[1])
        shutil.copy(inputs[1].with_name(f"{name}.tunables"), work)
        column = replay(e4replay, [inputs[0], alone, "-p", policy])["recorded"]
    shown = own_figures(column)
    if column["searches_from"] != "trace" or not SHOWN_BY_TRACE <= shown.keys():
        faults.append(f"{name}: without mb_stats: {sorted(shown)}")
    for key, value in sorted(shown.items()):
        if kernels[key] != value:
            faults.append(f"{name}: {key}: mb_stats {kernels[key]}, the trace {value}")


def against_disk(name, column, text, faults):
    """Compares the free space at the end with e2freefrag's output after unmount."""
    said = [int(re.search(rf"^{what}\. free extent: *(\d+)", text, re.M)[1])
            for what in ("Num", "Min", "Max", "Avg")]
    free = column["free_extents"]
    ours = [free["count"], free["min_kb"], free["max_kb"], int(free["avg_kb"])]
    if ours != said:
        faults.append(f"{name}: free extents {ours}, on the disk {said}")


def main(e4replay, captures, traces):
    faults, compared, from_stats = [], 0, 0
    for name, inputs in bundled(captures.resolve(), traces.resolve()):
        document = replay(e4replay, inputs)
        column, run = document["recorded"], document["runs"][0]
        followed = column["identical"] == column["requests"] > 0
        if not followed or run["policy"] != column["policy"]:
            faults.append(f"{name}: {column['identical']} of {column['requests']} followed under "
                          f"{column['policy']}, the first policy is {run['policy']}")
        elif name not in NOT_ALONE:
            compared += compare(name, column, run, faults)
        from_stats += column["searches_from"] == "mb_stats"
        if len(inputs) == 2:
            without_stats(e4replay, name, inputs, column, faults)
            against_disk(name, column, end_of(e4replay, traces / f"{name}.e4c", "e2freefrag"), faults)
    for fault in faults:
        print(fault)
    print(f"{compared} figures compared, {from_stats} captures with mb_stats")
    return 1 if faults or compared < 1000 or from_stats < 10 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(pathlib.Path, sys.argv[2:4])))
