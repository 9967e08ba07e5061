#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the page of `e4replay watch` in a separate terminal, presses keys, and ends it with q.

page.py E4REPLAY MOUNT: exits with 0 if the page has its parts, follows the terminal's size, and leaves the
terminal as it was. A file e4replay-watch-*.json is left in the working directory.
"""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def main(program, mount):
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
        os.execv(program, [program, "watch", mount, "-p", "linux-6.12", "--max-freeze", "60s",
                           "--interval", "200ms"])
    resize(terminal, 24, 80)
    seen = ""

    def wait_for(pattern):
        """Waits until the output since the last call matches."""
        nonlocal seen
        end = time.monotonic() + 60
        while not re.search(pattern, seen):
            if time.monotonic() > end:
                sys.exit(f"page.py: nothing like '{pattern}' on the page: {seen!r}")
            if select.select([terminal], [], [], 0.1)[0]:
                seen += os.read(terminal, 65536).decode(errors="replace")
        seen = ""

    wait_for("linux-6.12")
    os.write(terminal, b"?")
    wait_for("show or hide this help")
    os.write(terminal, b"?")
    wait_for("last minute")
    os.write(terminal, b"f")
    wait_for("FROZEN")
    os.write(terminal, b"f")
    wait_for("freeze")
    os.write(terminal, b"o")
    wait_for("Columns: those with an x")
    os.write(terminal, b" ")
    wait_for(r"\+2")  # two columns no longer fit
    resize(terminal, 30, 100)
    wait_for(r"\[x\] requests ")
    os.write(terminal, b"\x1bOB\x1bOB ")
    wait_for("hits/cr0 ")
    os.write(terminal, b"\x1b")
    wait_for("last minute")
    resize(terminal, 24, 80)
    os.write(terminal, b"s")
    os.write(terminal, b"w")
    wait_for(r"wrote e4replay-watch-\S*json")
    resize(terminal, 40, 120)
    wait_for(r"\x1b\[40[d;]")  # something is drawn in the last line
    os.write(terminal, b"q")
    status = None
    while status is None:
        try:
            seen += os.read(terminal, 65536).decode(errors="replace")
        except OSError:
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        sys.exit(f"page.py: status {status}: {seen!r}")
    if "\x1b[?1049l" not in seen:
        sys.exit(f"page.py: the terminal stays on the page: {seen!r}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
