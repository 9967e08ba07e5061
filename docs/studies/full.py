#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints what a program does to a file system that it keeps almost full, as operations for `e4replay age --operations`.

  full.py ring|torrents|database ROOM [--days N] [--fallocate BYTES] [--seed N]

ROOM: bytes that the files may have together. Every day a program writes its share, and what is oldest, or no longer
wanted, goes when there is no room.
"""
import argparse
import random

MIB = 1 << 20
BLOCK = 4096
CALL = 256 * 1024  # bytes of a call of write(2)


class Files:
    """Files at places for them (slots). Prints each operation, and counts the bytes in use."""

    def __init__(self, room, fallocate):
        self.room, self.fallocate = room, fallocate
        self.used = 0
        self.size, self.space, self.vacant = {}, {}, []
        self.dirty = self.waiting = 0

    def create(self):
        slot = self.vacant.pop() if self.vacant else len(self.size) + len(self.vacant)
        self.size[slot] = self.space[slot] = 0
        return slot

    def reserve(self, slot, end):
        """Gives the file space up to `end`, and keeps its size."""
        print("k", slot, self.space[slot], end - self.space[slot])
        self.used += end - self.space[slot]
        self.space[slot] = end

    def write(self, slot, offset, count):
        """Writes `count` bytes, which have no block yet, through the page cache."""
        end = offset + count
        if self.fallocate and end > self.space[slot]:
            self.reserve(slot, -(-end // self.fallocate) * self.fallocate)
        for at in range(offset, end, CALL):
            print("W", slot, at, min(CALL, end - at))
        if not self.fallocate:
            self.used += -(-end // BLOCK) * BLOCK - -(-offset // BLOCK) * BLOCK
        self.size[slot] = max(self.size[slot], end)
        self.dirty += count

    def append(self, slot, count):
        self.write(slot, self.size[slot], count)

    def close(self, slot):
        """Gives back the blocks that were allocated after the end."""
        end = -(-self.size[slot] // BLOCK) * BLOCK
        if self.space[slot] > end:
            print("p", slot, end, self.space[slot] - end)
            self.used -= self.space[slot] - end
            self.space[slot] = end
        print("c", slot)

    def remove(self, slot):
        """Removes a file without holes."""
        freed = self.space[slot] if self.fallocate else -(-self.size[slot] // BLOCK) * BLOCK
        print("r", slot)
        self.used -= freed
        self.waiting += freed
        del self.size[slot], self.space[slot]
        self.vacant.append(slot)
        # What was removed can be used after a commit, which comes within seconds.
        if self.waiting > 64 * MIB:
            self.sync()

    def sync(self):
        print("s")
        self.dirty = self.waiting = 0

    def write_back(self, most):
        """The kernel writes back when so much is dirty."""
        if self.dirty >= most:
            self.sync()

    def fits(self, count):
        return self.used + count + (self.fallocate or 0) <= self.room


def ring(files, days, rng):
    """16 recorders. Each has a file open, of 8 to 64 MiB; the oldest file goes when there is no room. All is written
    once in two weeks. 32 MiB are dirty when they are written back: 2 MiB of each recorder."""
    cameras = [{"rate": rng.lognormvariate(0, 0.4), "slot": None, "left": 0} for _ in range(16)]
    rate = sum(camera["rate"] for camera in cameras)
    finished = []
    daily = files.room // 14
    for _ in range(days):
        written = 0
        while written < daily:
            for camera in cameras:
                count = int(32 * MIB * camera["rate"] / rate * rng.uniform(0.7, 1.3))
                while not files.fits(count):
                    files.remove(finished.pop(0))
                if camera["slot"] is None:
                    camera["slot"], camera["left"] = files.create(), rng.uniform(8, 64) * MIB
                files.append(camera["slot"], count)
                written += count
                camera["left"] -= count
                if camera["left"] <= 0:
                    files.close(camera["slot"])
                    finished.append(camera["slot"])
                    camera["slot"] = None
            files.sync()


def torrents(files, days, rng):
    """Twelve downloads at a time, each a file of 20 MiB to 4 GiB whose pieces of 1 MiB come in random order. A finished
    file is removed at random when there is no room. All is written once a month."""
    active, finished = [], []
    daily = files.room // 30

    def begin():
        pieces = int(min(max(rng.lognormvariate(5.8, 1.1), 20), 4096))
        order = list(range(pieces))
        rng.shuffle(order)
        slot = files.create()
        if files.fallocate:
            while not files.fits(pieces * MIB) and finished:
                remove_one()
            files.reserve(slot, pieces * MIB)
        active.append((slot, order))

    def remove_one():
        slot = finished.pop(rng.randrange(len(finished)))
        files.remove(slot)

    for _ in range(days):
        written = 0
        while written < daily:
            while len(active) < 12:
                begin()
            at = rng.randrange(len(active))
            slot, order = active[at]
            while not files.fits(MIB) and finished:
                remove_one()
            files.write(slot, order.pop() * MIB, MIB)
            written += MIB
            files.write_back(48 * MIB)
            if not order:
                files.close(slot)
                finished.append(slot)
                active.pop(at)


def database(files, days, rng):
    """30 tables, partitioned by week: 30 files grow at a time, by about 100 KiB between two checkpoints, and old
    partitions are dropped at 60 % of the room. Each night a dump is written, 4 % of the room; the oldest dump goes when
    there is no room. Sorts write temporary files. All is written about 16 times a year."""
    weights = [rng.lognormvariate(0, 0.8) for _ in range(30)]
    weekly = 0.6 * files.room / 20
    partitions, dumps, current = [], [], []

    def make_room(count):
        while not files.fits(count) and dumps:
            files.remove(dumps.pop(0))

    def write_whole(slot, pieces):
        for _ in range(pieces):
            make_room(8 * MIB)
            files.append(slot, 8 * MIB)
            files.write_back(128 * MIB)
        files.close(slot)

    def in_tables():
        return sum(files.size[slot] for slot in partitions) + sum(files.size[slot] for slot in current)

    for day in range(days):
        if day % 7 == 0:
            for slot in current:
                files.close(slot)
            partitions += current
            current = [files.create() for _ in weights]
        while partitions and in_tables() > 0.6 * files.room:
            files.remove(partitions.pop(0))
        for _ in range(48):
            for slot, weight in zip(current, weights):
                count = weekly / 7 / 48 * weight / sum(weights) * rng.uniform(0.2, 1.8)
                count = max(int(count) // 8192, 1) * 8192
                make_room(count)
                files.append(slot, count)
            if rng.random() < 0.3:
                sort = files.create()
                write_whole(sort, int(rng.lognormvariate(2.5, 1)))
                files.remove(sort)
            files.sync()
        dump = files.create()
        write_whole(dump, int(0.04 * files.room / (8 * MIB)))
        dumps.append(dump)
        files.sync()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", choices=["ring", "torrents", "database"])
    parser.add_argument("room", type=int)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--fallocate", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    files = Files(options.room, options.fallocate)
    {"ring": ring, "torrents": torrents, "database": database}[options.program](files, options.days,
                                                                                random.Random(options.seed))
    files.sync()


main()
