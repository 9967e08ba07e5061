#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""same_image.py A B: fails unless the files have the same bytes.

Reads only the pieces in which one of the files has data, because reading all of a sparse image takes seconds.
"""
import os
import sys

PIECE = 1 << 16


def pieces(file, size):
    """Yields the numbers of the pieces that contain data."""
    at = 0
    while at < size:
        try:
            at = os.lseek(file, at, os.SEEK_DATA)
        except OSError:
            return  # only a hole follows
        end = os.lseek(file, at, os.SEEK_HOLE)
        yield from range(at // PIECE, (end - 1) // PIECE + 1)
        at = end


FILES = [os.open(name, os.O_RDONLY) for name in sys.argv[1:]]
SIZES = [os.fstat(file).st_size for file in FILES]
if SIZES[0] != SIZES[1]:
    sys.exit(f"{sys.argv[1]} and {sys.argv[2]} have different sizes")
for piece in sorted({piece for file in FILES for piece in pieces(file, SIZES[0])}):
    one, other = (os.pread(file, PIECE, piece * PIECE) for file in FILES)
    if one != other:
        sys.exit(f"{sys.argv[1]} and {sys.argv[2]} differ after byte {piece * PIECE}")
