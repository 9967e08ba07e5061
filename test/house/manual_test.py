#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that each subcommand has a manual page, and that --help and the page have the same options.

  manual_test.py TOOLS PAGES     the directories of the programs and of the pages
"""
import pathlib
import re
import subprocess
import sys


def help_of(*command):
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def section(text, title):
    """Returns the lines of --help below a title."""
    found = re.search(rf"^{title}:\n((?:  .*\n|\n(?=  ))+)", text, re.M)
    return found[1].splitlines() if found else []


def subcommands(*command):
    return [line.split()[0] for line in section(help_of(*command), "Subcommands") if line.strip()]


def options_of(*command):
    """Returns all options of a command and of the subcommands below it."""
    text = help_of(*command)
    found = set()
    for line in section(text, "Options"):
        # Any other line continues the description of the previous option.
        if re.match(r"  -", line):
            found |= set(re.match(r"  ([-\w,]+)", line)[1].split(","))
    for name in subcommands(*command):
        found |= options_of(*command, name)
    return found


def tags(page):
    """Returns the tags of a page's paragraphs (the lines after .TP), without fonts."""
    lines = page.read_text().splitlines()
    found = []
    for line, tag in zip(lines, lines[1:]):
        if line == ".TP":
            tag = re.sub(r"\\f[BIR]", "", re.sub(r"^\.B?[BIR]?[RI]? ", "", tag))
            found.append(tag.replace('"', "").replace("\\-", "-"))
    return found


def options_in(page):
    found = set()
    for tag in tags(page):
        if tag.startswith("-"):
            found |= set(re.findall(r"(?:^|[ ,])(--?[a-zA-Z][-a-z]*)", tag))
    return found


def main(tools, pages):
    wrong = []

    def same(what, where, listed, written):
        wrong.extend(f"{where} lacks {what} {one}" for one in sorted(listed - written))
        wrong.extend(f"{where} has {what} {one}, which --help does not" for one in sorted(written - listed))

    program = str(tools / "e4replay")
    names = subcommands(program)
    assert len(names) > 5, f"subcommands of --help: {names}"
    overview = pages / "e4replay.1"
    same("the subcommand", overview.name, set(names),
         {found[1] for tag in tags(overview) if (found := re.match(r"e4replay-(\w+)", tag))})
    # The names of these pages look like subcommands, but belong to separate programs.
    programs = {"policy-test"}
    same("a page of its own for", "docs/man", set(names) | programs,
         {page.stem.removeprefix("e4replay-") for page in pages.glob("e4replay-*.1")})
    compared = 0
    for name in names:
        page = pages / f"e4replay-{name}.1"
        if page.exists():
            listed = options_of(program, name)
            compared += len(listed)
            same("the option", page.name, listed, options_in(page))
    assert compared > 50, f"{compared} options compared"
    own = set(re.findall(r"^  (-h,--help|--version)", help_of(program), re.M))
    same("the option", overview.name, {one for both in own for one in both.split(",")}, options_in(overview))

    own = set(re.findall(r"(?<![\w-])(--?\w+)\b", "\n".join(
        line[:16] for line in help_of(str(tools / "e4replay-policy-test")).splitlines() if line[:3] == "  -" or line[:8] == "      --")))
    same("the option", "e4replay-policy-test.1", own, options_in(pages / "e4replay-policy-test.1"))

    lazy = pages / "tune2fs-lazy.8"
    same("the option", lazy.name, options_of(str(tools / "tune2fs-lazy")), options_in(lazy))
    keys = re.findall(r"^  (\w+)(?:=\S+)?  ", help_of(str(tools / "mke2fs-lazy")), re.M)
    assert len(keys) > 5, f"keys of mke2fs-lazy --help: {keys}"
    written = set()
    for tag in tags(pages / "mke2fs-lazy.8"):
        written |= set(re.findall(r"\b(?:itable_\w+|verify|trust_discard|write_unreadable|init_itable|noinit_itable)\b", tag))
    same("the key", "mke2fs-lazy.8", set(keys), written)

    for one in wrong:
        print(f"manual_test: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
