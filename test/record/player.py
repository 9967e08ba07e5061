# SPDX-License-Identifier: GPL-2.0-or-later
"""Performs the operations of `e4replay age --write-operations` on files of a mounted file system (docs/ageing.md).

  player.py DIRECTORY N           makes N empty files, one for each slot, and prints their inodes
  player.py DIRECTORY - FILE      performs the operations in FILE
"""
import ctypes
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
FALLOCATE_MODES = {"f": 0, "k": 1, "p": 3}  # FALLOC_FL_KEEP_SIZE is 1, FALLOC_FL_PUNCH_HOLE 2
DATA = bytes(1 << 20)


def write(file, offset, count):
    while count > 0:
        done = os.pwrite(file, DATA[:count], offset)
        offset += done
        count -= done


def perform(line, files):
    kind, *numbers = line.split()
    numbers = [int(number) for number in numbers]
    if kind == "s":
        os.sync()
        return
    slot = numbers[0]
    if slot not in files:
        files[slot] = os.open(f"f{slot}", os.O_RDWR)
    file = files[slot]
    if kind in FALLOCATE_MODES:
        if libc.fallocate(file, FALLOCATE_MODES[kind], numbers[1], numbers[2]) != 0:
            sys.exit(f"{line.strip()}: {os.strerror(ctypes.get_errno())}")
    elif kind == "W":
        write(file, numbers[1], numbers[2])
        return
    elif kind in ("w", "a"):
        write(file, os.fstat(file).st_size, numbers[1])
    elif kind == "r":
        os.ftruncate(file, 0)
    elif kind == "y":
        os.fsync(file)
        return
    elif kind != "c":
        sys.exit(f"{line.strip()}: cannot be performed here")
    if kind != "k":
        os.close(files.pop(slot))


def main():
    os.chdir(sys.argv[1])
    if len(sys.argv) == 3:
        for slot in range(int(sys.argv[2])):
            file = os.open(f"f{slot}", os.O_CREAT | os.O_RDWR)
            print(os.fstat(file).st_ino)
            os.close(file)
        return
    files = {}
    with open(sys.argv[3], encoding="ascii") as operations:
        for line in operations:
            perform(line, files)


main()
