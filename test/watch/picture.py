#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a tmux pane (capture-pane -p -e) and writes an HTML page that looks like the terminal."""
import html
import re
import sys

BACK, FRONT = "#14171c", "#d7dae0"
COLOURS = {31: "#f2777a", 32: "#8fc97c", 36: "#6cc7d8"}


def style(codes):
    """Returns the CSS for the ECMA-48 codes that are in force."""
    front = next((COLOURS[code] for code in codes if code in COLOURS), FRONT)
    back = "none"
    if 7 in codes:
        front, back = BACK, "#aab2c0"
    bold = "bold" if 1 in codes else "normal"
    return f"color:{front};background:{back};font-weight:{bold};opacity:{0.65 if 2 in codes else 1}"


def main():
    text = sys.stdin.read().rstrip("\n")
    print(f"<!doctype html><meta charset=utf-8><body style='margin:14px;background:{BACK}'>"
          "<pre style='font:13px/17px \"DejaVu Sans Mono\",monospace;margin:0'>", end="")
    codes = set()
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        found = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not found:
            print(f"<span style='{style(codes)}'>{html.escape(part)}</span>", end="")
            continue
        for code in (int(number or 0) for number in found[1].split(";")):
            if code == 0:
                codes = set()
            elif code < 30:
                codes = codes | {code}
            elif code < 40:
                codes = {old for old in codes if not 30 <= old < 40} | {code}
    print("</pre>")


if __name__ == "__main__":
    main()
