#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Carries a page of docs/ out in a checkout or an empty directory, from its first numbered heading on:

- a block of C++ below a heading that names a file is that file, which there must not be;
- a hunk of a block "diff" is found in its file, once, and changed;
- an indented line is a command, which must succeed.

  follow_guide.py PAGE CHECKOUT     prints the commands and what they print
"""
import re
import subprocess
import sys
from pathlib import Path

FENCE = re.compile(r"^```(\w*)$")
HEADING = re.compile(r"^### \d+\. (.*)$")
FILE = re.compile(r"`((?:(?:src|test|tools)/)?[\w./]+\.\w+)`")


def blocks(page):
    """(kind, heading, text) of each block, in order; kind "" is a command."""
    heading, kind, text = None, None, []
    for line in page.read_text().splitlines():
        if kind is not None:
            if line == "```":
                yield kind, heading, "\n".join(text) + "\n"
                kind = None
            else:
                text.append(line)
        elif fence := FENCE.match(line):
            kind, text = fence[1], []
        elif match := HEADING.match(line):
            heading = match[1]
        elif heading is not None and line.startswith("    "):
            yield "", heading, line[4:]


def make_file(checkout, heading, text):
    name = FILE.search(heading)
    assert name, f"the block below '{heading}' has no file"
    path = checkout / name[1]
    assert not path.exists(), f"there is a {name[1]}: the page needs another example"
    path.write_text(text)


def change(checkout, diff):
    lines = diff.splitlines()
    assert lines[0].startswith("--- a/") and lines[1] == "+++ b/" + lines[0][6:], "no diff of one file"
    path = checkout / lines[0][6:]
    for hunk in "\n".join(lines[2:]).split("@@ @@\n")[1:]:
        rows = hunk.rstrip("\n").split("\n")
        before = "".join(row[1:] + "\n" for row in rows if row[:1] != "+")
        after = "".join(row[1:] + "\n" for row in rows if row[:1] != "-")
        text = path.read_text()
        assert text.count(before) == 1, f"{path.name}: found {text.count(before)} times:\n{before}"
        path.write_text(text.replace(before, after))


def main(page, checkout):
    carried_out = {"cpp": 0, "diff": 0, "": 0}
    for kind, heading, text in blocks(page):
        if kind == "cpp":
            make_file(checkout, heading, text)
        elif kind == "diff":
            change(checkout, text)
        elif kind == "":
            print("$ " + text, flush=True)
            subprocess.run(["bash", "-ec", text], cwd=checkout, check=True)
        else:
            continue
        carried_out[kind] += 1
    assert carried_out["cpp"] + carried_out["diff"], f"{page} has no file and no change: {carried_out}"
    assert carried_out[""], f"{page} has no command: {carried_out}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
