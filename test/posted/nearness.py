#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the start images of captures with images that are made from their texts: the figures of docs/posted.md.

  nearness.py E4REPLAY CAPTURES IMAGE:TRACE...

For each image, makes images from its mb_groups and its e2freefrag, and replays the trace under legacy on all three.
Ends with 1 if groups considered or extents scanned on the image from mb_groups differ by more than 10 %.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

E2FS = {**os.environ, "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"}


def mb_groups(path):
    """Returns the text that a kernel would print, from the bitmaps of an image without bigalloc."""
    with open(path, "rb") as image:
        image.seek(1024)
        super_block = image.read(1024)
        word = lambda at: struct.unpack_from("<I", super_block, at)[0]
        half = lambda at: struct.unpack_from("<H", super_block, at)[0]
        size, blocks, first, per_group = 1024 << word(24), word(4), word(20), word(32)
        desc_size = half(254) if word(96) & 0x80 else 32
        groups = -(-(blocks - first) // per_group)
        image.seek((first + 1) * size)
        descriptors = image.read(groups * desc_size)
        lines = ["#group: free  frags first [ 2^0 ]"]
        for group in range(groups):
            at = struct.unpack_from("<I", descriptors, group * desc_size)[0]
            count = min(per_group, blocks - first - group * per_group)
            image.seek(at * size)
            bits = int.from_bytes(image.read(size), "little") | 1 << count
            used = bin(bits)[2:][::-1][:count]
            lines.append(line_of(group, used, size.bit_length()))
    return "\n".join(lines) + "\n"


def line_of(group, used, largest):
    chunks, runs, end = [0] * 14, [], 0
    while (begin := used.find("0", end)) >= 0:
        end = used.find("1", begin)
        end = len(used) if end < 0 else end
        runs.append((begin, end))
    for begin, end in runs:
        while begin < end:
            aligned = (begin & -begin).bit_length() - 1 if begin else largest
            order = min(aligned, (end - begin).bit_length() - 1, largest)
            chunks[order] += 1
            begin += 1 << order
    free = sum(end - begin for begin, end in runs)
    first = runs[0][0] if runs else len(used)
    return f"#{group} : {free} {len(runs)} {first} [ {' '.join(map(str, chunks))} ]"


def searches(tool, image, trace):
    out = subprocess.run([tool, "replay", image, trace, "-p", "legacy", "--force", "--no-progress", "--json", "-"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    run = json.loads(out)["runs"][0]
    return run["groups_considered"], run["mb_stats"]["extents_scanned"]


def main():
    tool, captures, pairs = sys.argv[1], sys.argv[2], sys.argv[3:]
    failed = False
    print("| capture | figure | true image | from mb_groups | from e2freefrag |")
    print("|---|---|---|---|---|")
    for pair in pairs:
        name, trace = pair.split(":")
        image, trace = f"{captures}/{name}.img", f"{captures}/{trace}"
        with tempfile.TemporaryDirectory() as work:
            path = lambda file: os.path.join(work, file)
            with open(path("groups"), "w", encoding="ascii") as out:
                out.write(mb_groups(image))
            for file, command in (("head", ["dumpe2fs", "-h", image]), ("freefrag", ["e2freefrag", image])):
                with open(path(file), "wb") as out:
                    subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, env=E2FS, check=False)
            found = [searches(tool, image, trace)]
            for text in "groups", "freefrag":
                subprocess.run([tool, "image", path("head"), path(text), "-o", path("made.img")],
                               stdout=subprocess.DEVNULL, check=True)
                found.append(searches(tool, path("made.img"), trace))
        for at, figure in enumerate(("groups considered", "extents scanned")):
            true = found[0][at]
            cells = [f"{one[at]:,} ({100 * (one[at] - true) / true:+.1f} %)" for one in found[1:]]
            print(f"| {name} | {figure} | {true:,} | {cells[0]} | {cells[1]} |", flush=True)
            failed = failed or abs(found[1][at] - true) > 0.1 * true
    sys.exit(1 if failed else 0)


main()
