#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares `replay --decisions` with the text of the trace, the JSON document and the manual.

decisions.py E4REPLAY CAPTURES PAGE: the recorded rows must equal the trace's text, which this
script parses itself. Where the model agrees with every decision, its rows must be the same. Sums of columns must equal
the figures of the JSON document, for policies of several kernels. CSV and SQLite must have the same cells.
PAGE must describe the columns in their order. Names that need quoting must stay unchanged.
"""
import csv
import json
import operator
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

REQUEST = re.compile(r"-(\d+) +\[(\d+)\] \S+ +(\d+)\.(\d+): ext4_request_blocks: dev \S+ ino (\d+) "
                     r"flags (\S*) len (\d+) lblk (\d+) ")
CLOSING = re.compile(r"-(\d+) .*ext4_mballoc_(alloc|prealloc): .* orig (\d+)/(\d+)/(\d+)@(\d+)"
                     r"(?: goal (\d+)/(-?\d+)/(\d+)@\d+)? result (\d+)/(-?\d+)/(\d+)@\d+"
                     r"(?: blks (\d+) grps (\d+) cr (\d+))?")
ANSWER = re.compile(r"-(\d+) .*?(\d+)\.(\d+): ext4_allocate_blocks: .* len (\d+) block (\d+) ")
CRITERIA = ("CR0", "CR1", "CR2", "CR3")
# The columns that are compared for Linux 6.1.
ALIKE = ("decision", "part", "time_s", "pid", "cpu", "inode", "kind", "logical_block", "goal_block",
         "asked_clusters", "search_goal_block", "search_goal_clusters", "served_by", "criterion",
         "block", "len_clusters", "taken_clusters", "groups_scanned", "extents_examined")
faults = []


def check(what, made, expected):
    if made != expected:
        faults.append(f"{what}: {made!r}, expected {expected!r}")


def replay(e4replay, *args, cwd, status=0):
    done = subprocess.run([e4replay, "replay", *args], capture_output=True, cwd=cwd, check=False)
    if done.returncode != status:
        sys.exit(f"replay {args}: status {done.returncode}: {done.stderr.decode()}")
    return done


def read_csv(path):
    """Returns the names of the columns, and the rows."""
    text = path.read_bytes()
    check(f"{path.name}: lines that do not end in CR LF", text.replace(b"\r\n", b"").count(b"\n"), 0)
    rows = list(csv.reader(text.decode().splitlines(keepends=True), strict=True))
    check(f"{path.name}: cells", {len(row) for row in rows}, {len(rows[0])})
    return rows[0], rows[1:]


def read_trace(path, blocks_per_group, first_block):
    """Yields the rows of the recorded kernel from a trace with one writer at a time."""
    def block(group, start):
        return str(first_block + int(group) * blocks_per_group + int(start))

    text = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout.decode()
    asked, closed = {}, {}
    for line in text.splitlines():
        if found := REQUEST.search(line):
            asked[found[1]] = found
        elif found := CLOSING.search(line):
            if found[1] in asked:
                closed[found[1]] = found
        elif found := ANSWER.search(line):
            request, closing = asked.pop(found[1], None), closed.pop(found[1], None)
            if request is None or closing is None:
                continue
            search = closing[2] == "alloc"
            none = found[5] == "0"
            served = ("nothing" if none else "preallocation" if not search
                      else "goal" if closing[14] == "0" else "search")
            yield {
                "time_s": f"{request[3]}.{request[4]:0<9}", "pid": request[1],
                "cpu": str(int(request[2])), "inode": request[5],
                "kind": "data" if "HINT_DATA" in request[6] else "metadata",
                "logical_block": request[8], "goal_block": block(closing[3], closing[4]),
                "asked_clusters": closing[5],
                "search_goal_block": block(closing[7], closing[8]) if search else "",
                "search_goal_clusters": closing[9] if search else "",
                "served_by": served,
                "criterion": CRITERIA[int(closing[15])] if served == "search" else "",
                "block": "" if none else found[5], "len_clusters": "0" if none else found[4],
                "taken_clusters": closing[12] if search else "0",
                "groups_scanned": closing[14] if search else "0",
                "extents_examined": closing[13] if search else "0",
                "answered_after_ns": str((int(found[2]) - int(request[3])) * 10**9 +
                                         int(f"{found[3]:0<9}") - int(f"{request[4]:0<9}")),
                "groups_considered": "", "code_ns": "",
            }


def against_trace(e4replay, captures, work):
    """Compares rows with the trace. churn-1k has blocks of 1 KiB, so groups begin at block 1."""
    for name, image in ("churn-4k", "churn-4k"), ("churn-1k-nodelalloc", "churn-1k"):
        replay(e4replay, f"{image}.img", f"{name}.trace.zst", "-p", "legacy", "--decisions",
               work / f"{name}.csv", "--json", work / f"{name}.json", cwd=captures)
        document = json.loads((work / f"{name}.json").read_text())
        shape = document["image"]
        expected = list(read_trace(captures / f"{name}.trace.zst", shape["blocks_per_group"],
                                   1 if shape["block_size"] == 1024 else 0))
        header, rows = read_csv(work / f"{name}.csv")
        rows = [dict(zip(header, row)) for row in rows]
        recorded = [row for row in rows if row["run"] == "0"]
        legacy = [row for row in rows if row["run"] == "1"]
        check(f"{name}: {len(recorded)} recorded rows", len(recorded) > 2000, True)
        check(f"{name}: order", rows, recorded + legacy)
        # The replay moves a request to a later time if a preallocation shows that it took effect later. So sort the
        # rows.
        key = lambda row: (float(row["time_s"]), row["pid"], row["inode"], row["block"])
        check(f"{name}: rows", len(recorded), len(expected))
        for row, want in zip(sorted(recorded, key=key), sorted(expected, key=key)):
            if not want.items() <= row.items():
                check(f"{name}: decision {row['decision']}", {c: row[c] for c in want}, want)
        alike = operator.itemgetter(*ALIKE)
        for row, want in zip(legacy, recorded, strict=True):
            if alike(row) != alike(want):
                check(f"{name}: legacy, decision {row['decision']}", alike(row), alike(want))
        check(f"{name}: names", {row["policy"] for row in recorded}, {"recorded"})


def by_criterion(database, run):
    query = ("SELECT criterion, count(*) FROM decisions WHERE run = ? AND criterion IS NOT NULL "
             "GROUP BY criterion")
    return dict(database.execute(query, (run,)))


def against_json(e4replay, captures, work):
    """Compares the counters in the document with sums over the rows."""
    sections = {"cr0_stats": "CR0", "cr1_stats": "CR1", "cr1.5_stats": "CR1.5",
                "best_avail_stats": "best-avail", "cr2_stats": "CR2", "cr3_stats": "CR3"}
    cases = (("delalloc-4k.img", "delalloc-4k-7.3.e4t.zst", "linux-7.3,legacy,linux-7.3"),
             ("posting-256g.img", "posting-2000.e4t.zst", "cr1.5,linux-6.12"),
             ("fill-4k.img", "fill-4k-enospc.e4t.zst", "legacy,linear"))
    for image, trace, policies in cases:
        for form in "sqlite", "csv":
            (work / f"made.{form}").unlink(missing_ok=True)
            replay(e4replay, image, trace, "-p", policies, "--decisions", work / f"made.{form}",
                   "--json", work / "made.json", cwd=captures)
        document = json.loads((work / "made.json").read_text())
        database = sqlite3.connect(work / "made.sqlite")
        meta = {(run, key): value for run, key, value in database.execute("SELECT * FROM meta")}
        check(f"{trace}: image", meta[None, "image"], image)
        check(f"{trace}: trace", meta[None, "trace"], trace)
        check(f"{trace}: block_bytes", meta[None, "block_bytes"],
              str(document["image"]["block_size"]))
        for run, column in enumerate(document["runs"], 1):
            where = f"{trace}, {column['policy']}"
            check(f"{where}: meta", meta[run, "policy"], column["policy"])
            check(f"{where}: tunables", {key: int(value) for (of, key), value in meta.items()
                                         if of == run and key != "policy"},
                  {key: column["tunables"][key] for of, key in meta
                   if of == run and key != "policy"})
            one = database.execute(
                "SELECT count(*), sum(block IS NULL), sum(len_clusters), sum(groups_considered), "
                "sum(extents_examined), min(policy), max(policy), sum(part > 1), "
                "sum(kind = 'metadata') FROM decisions WHERE run = ?", (run,)).fetchone()
            check(f"{where}: requests, failed", one[:2], (column["requests"], column["failed"]))
            check(f"{where}: considered", one[3], column["groups_considered"])
            check(f"{where}: examined", one[4], column["mb_stats"]["extents_scanned"])
            check(f"{where}: policy", one[5:7], (column["policy"],) * 2)
            check(f"{where}: extra", one[7], column["extra_requests"])
            check(f"{where}: metadata", one[8], column["metadata_requests"])
            check(f"{where}: criteria", by_criterion(database, run),
                  {name: column["mb_stats"][key]["hits"] for key, name in sections.items()
                   if column["mb_stats"].get(key, {}).get("hits")})
        recorded = database.execute("SELECT count(*) FROM decisions WHERE run = 0").fetchone()[0]
        check(f"{trace}: recorded", recorded, document["recorded"]["requests"])
        header = same_cells(work / "made.csv", database)
        database.close()
    return header


def same_cells(path, database):
    """Compares both forms of a table. Returns the names of the columns."""
    header, rows = read_csv(path)
    cursor = database.execute("SELECT * FROM decisions ORDER BY run, decision, part")
    check("columns", header, [column[0] for column in cursor.description])
    time = header.index("time_s")
    for count, (row, stored) in enumerate(zip(rows, cursor, strict=True), 1):
        cells = ["" if value is None else str(value) for value in stored]
        if abs(float(row[time]) - stored[time]) < 1e-6:
            cells[time] = row[time]
        if row != cells:
            check(f"{path.name}, row {count}", row, cells)
    indexes = database.execute("SELECT count(*) FROM sqlite_master WHERE type = 'index'").fetchone()
    check("indexes", indexes[0] >= 4, True)
    check("integrity", database.execute("PRAGMA integrity_check").fetchone()[0], "ok")
    return header


def against_page(page, header):
    """Compares the columns with the columns that the table in PAGE describes."""
    described = re.findall(r"^\| `(\w+)` \|", page.read_text().split("## Columns")[1]
                           .split("\n## ")[0], re.M)
    check(f"{page.name}: columns", described, header)


def quoting(e4replay, captures, work):
    """Names of files and devices may contain any text."""
    name = b'start "a", \'b\'\r\n\xff; DROP TABLE decisions.img'
    copy = bytes(work) + b"/" + name
    os.symlink(bytes(captures.resolve() / "churn-4k.img"), copy)
    replay(e4replay, copy, captures / "churn-4k.trace.zst", "-p", "legacy", "--decisions",
           bytes(work) + b'/a,"b\'\n.sqlite', cwd=work)
    database = sqlite3.connect(work / 'a,"b\'\n.sqlite')
    stored = database.execute("SELECT value FROM meta WHERE key = 'image'").fetchone()[0]
    check("image", stored, copy.decode(errors="replace"))
    database.close()


def refusals(e4replay, captures, work):
    for name, said in (("x.parquet", "DuckDB"), ("x.txt", ".csv or .sqlite"), ("-", ".csv or .sqlite")):
        done = replay(e4replay, "churn-4k.img", "churn-4k.trace.zst", "--decisions", name,
                      cwd=captures, status=2)
        check(f"{name}: one line that says {said}", (done.stderr.count(b"\n"), said.encode() in
                                                     done.stderr, done.stdout), (1, True, b""))
    # If the replay fails or the disk is full, the tool must not leave a file.
    (work / "full.csv").symlink_to("/dev/full")
    for image, out in ("churn-1k.img", "no.csv"), ("churn-1k.img", "no.sqlite"), ("churn-4k.img", "full.csv"):
        done = replay(e4replay, image, "churn-4k.trace.zst", "--decisions", work / out, cwd=captures,
                      status=1)
        check(f"{out}: lines", done.stderr.count(b"\n"), 1)
    check("left", sorted(path.name for path in work.glob("no.*")), [])


def main(e4replay, captures, page):
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        against_trace(e4replay, captures, work)
        against_page(page, against_json(e4replay, captures, work))
        quoting(e4replay, captures, work)
        refusals(e4replay, captures, work)
    for fault in faults[:20]:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(),
                  pathlib.Path(sys.argv[3]).resolve()))
