#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that each command with --json has a schema of its name, and that each schema of a command has such a command.

commands.py SCHEMAS PROGRAM...: finds commands and subcommands in the output of `--help`. The schema of
`e4replay trace info` is trace-info.schema.json. The name of the schema for `tune2fs-lazy status` includes the
program's name. A sweep has no --json: it writes three kinds of documents into its directory.
"""
import pathlib
import re
import subprocess
import sys

SWEEP = {"sweep", "sweep-point", "sweep-summary"}


def help_of(words):
    done = subprocess.run([*words, "--help"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} --help: status {done.returncode}")
    return done.stdout


def commands(words):
    """Yields (command, its help) for a command and all of its subcommands."""
    text = help_of(words)
    yield words, text
    below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    for name in re.findall(r"^  (\S+)", below[1], re.M) if below else ():
        yield from commands([*words, name])


def kind_of(words):
    program = pathlib.Path(words[0]).name
    return "-".join(words[1:] if program == "e4replay" else [program, *words[1:]])


def main(schemas, programs):
    faults, seen, kinds = [], 0, set()
    for program in programs:
        for words, text in commands([program]):
            seen += 1
            if re.search(r"^\s+--json\b", text, re.M):
                kinds.add(kind_of(words))
    there = {path.name.removesuffix(".schema.json") for path in schemas.glob("*.schema.json")}
    faults += [f"{kind}: has --json and no schema" for kind in sorted(kinds - there)]
    faults += [f"{kind}.schema.json: no command has --json" for kind in sorted(there - kinds - SWEEP)]
    for fault in faults:
        print(fault)
    print(f"{len(kinds)} of {seen} commands have --json")
    return 1 if faults or len(kinds) < 9 or seen < 20 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
