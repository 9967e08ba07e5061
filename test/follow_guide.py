#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows a page of docs/ in a checkout or an empty directory, from its first numbered heading on:

- a C++ block below a heading that names a file becomes that file, which must not exist yet;
- each hunk of a "diff" block must match once in its file, and is applied;
- an indented line is a command, which must succeed.

  follow_guide.py PAGE CHECKOUT               prints the commands and their output
  follow_guide.py --changes PAGE CHECKOUT     only checks that the files and changes can be made
"""
import re
import subprocess
import sys
from pathlib import Path

FENCE = re.compile(r"^```(\w*)$")
HEADING = re.compile(r"^### \d+\. (.*)$")
FILE = re.compile(r"`((?:(?:src|test|tools)/)?[\w./]+\.\w+)`")


def blocks(page):
    """Yields (kind, heading, text) for each block, in order. The kind of a command is ""."""
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


class Checkout:
    """The files of a directory. With `dry`, written files are only kept in memory."""

    def __init__(self, directory, dry):
        self.directory, self.dry, self.written = directory, dry, {}

    def exists(self, name):
        return name in self.written or (self.directory / name).exists()

    def read(self, name):
        return self.written.get(name) or (self.directory / name).read_text()

    def write(self, name, text):
        self.written[name] = text
        if not self.dry:
            (self.directory / name).write_text(text)

    def run(self, command):
        if not self.dry:
            print("$ " + command, flush=True)
            subprocess.run(["bash", "-ec", command], cwd=self.directory, check=True)


def make_file(checkout, heading, text):
    name = FILE.search(heading)
    assert name, f"the block below '{heading}' has no file"
    assert not checkout.exists(name[1]), f"there is a {name[1]}: the page needs another example"
    checkout.write(name[1], text)


def change(checkout, diff):
    lines = diff.splitlines()
    assert lines[0].startswith("--- a/") and lines[1] == "+++ b/" + lines[0][6:], "no diff of one file"
    name = lines[0][6:]
    for hunk in "\n".join(lines[2:]).split("@@ @@\n")[1:]:
        rows = hunk.rstrip("\n").split("\n")
        before = "".join(row[1:] + "\n" for row in rows if row[:1] != "+")
        after = "".join(row[1:] + "\n" for row in rows if row[:1] != "-")
        text = checkout.read(name)
        assert text.count(before) == 1, f"{name}: found {text.count(before)} times:\n{before}"
        checkout.write(name, text.replace(before, after))


def main(page, checkout):
    carried_out = {"cpp": 0, "diff": 0, "": 0}
    for kind, heading, text in blocks(page):
        if kind == "cpp":
            make_file(checkout, heading, text)
        elif kind == "diff":
            change(checkout, text)
        elif kind == "":
            checkout.run(text)
        else:
            continue
        carried_out[kind] += 1
    assert carried_out["cpp"] + carried_out["diff"], f"{page} has no file and no change: {carried_out}"
    assert carried_out[""], f"{page} has no command: {carried_out}"


if __name__ == "__main__":
    arguments = sys.argv[1:]
    dry = arguments[:1] == ["--changes"]
    main(Path(arguments[dry]), Checkout(Path(arguments[dry + 1]), dry))
