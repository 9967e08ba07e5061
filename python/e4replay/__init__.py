# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays recorded ext4 block allocations under other allocator policies.

    import e4replay
    report = e4replay.Capture("run.e4c").replay(["legacy", "cr1.5"], mb_max_to_scan=200)
    pandas.DataFrame(report.table())

docs/python.md is a tour. A failure raises Error with the message that the tool prints. Doubts about an input or
a result are issued as warnings. During long calls other threads can run, and Ctrl-C ends the call.
"""

from __future__ import annotations

import os
import warnings as _warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, Union

from . import _e4replay
from ._e4replay import (Agreement, Decision, Divergence, Error, Event, FileSystem, FreeExtents, Group, GroupState,
                        PolicyInfo, Search, SearchedGroup, policies)
from .policy import OWN, Policy
from .report import Decisions, Report

__version__ = _e4replay.version
__all__ = ["Agreement", "Allocator", "Capture", "Decision", "Decisions", "Divergence", "Error", "Event",
           "EventReader", "FileSystem", "FreeExtents", "Group", "GroupState", "Image", "OWN", "Policy",
           "PolicyInfo", "Report", "Search", "SearchedGroup", "Sweep", "find_policy", "policies"]

Path = Union[str, bytes, "os.PathLike[Any]"]
AnyPolicy = Union[str, Policy]

# Flags of a request, with the kernel's values.
MERGE, DATA, NOPREALLOC, GOAL_ONLY, TRY_GOAL, DELALLOC_RESERVED = 0x0001, 0x0020, 0x0040, 0x0100, 0x0200, 0x0400
USE_ROOT_BLOCKS, USE_RESERVED = 0x1000, 0x2000


def _settings(tunables: dict[str, int]) -> list[str]:
    for name, value in tunables.items():
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise TypeError(f"the tunable {name} is a whole number, not {type(value).__name__}")
    return [f"{name}={value}" for name, value in tunables.items()]


class _Chosen:
    """The policies of a call: their names in the library, and the objects that keep Python policies alive."""

    def __init__(self, chosen: AnyPolicy | Iterable[AnyPolicy]) -> None:
        self._kept: list[Any] = []
        self.names: list[str] = []
        policies: Iterable[AnyPolicy] = [chosen] if isinstance(chosen, (str, Policy)) else chosen
        for policy in policies:
            if isinstance(policy, Policy):
                registered = policy._registered()
                self._kept.append((policy, registered))
                self.names.append(registered.name)
            elif isinstance(policy, str):
                self.names.append(policy)
            else:
                raise TypeError(f"a policy is a name or an e4replay.Policy, not {type(policy).__name__}")

    @property
    def name(self) -> str:
        """The name of the only policy, or of the first."""
        return self.names[0]

    def threads(self, wanted: int) -> int:
        """Returns 1 for Python policies, because Python code runs in one thread at a time; otherwise `wanted`."""
        return 1 if self._kept else wanted


def find_policy(name: str) -> PolicyInfo:
    """Returns the policy with this name or alias."""
    return _e4replay.find_policy(name)


_Self = TypeVar("_Self", bound="_Closable")


class _Closable:
    """A base class for objects that a `with` statement closes."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases its resources."""
        raise NotImplementedError


class Image(_Closable):
    """An ext2, ext3 or ext4 file system in a file or on a block device, or the start image of a capture.

    It is opened for reading only.
    """

    def __init__(self, path: Path, *, bitmaps: bool = True, strict: bool = False, threads: int = 0) -> None:
        self._named = os.fsdecode(path)
        self._image: _e4replay.Image | None = _e4replay.Image.open(os.fsencode(path), bitmaps, strict, threads)
        for line in self._image.warnings():
            _warnings.warn(line, stacklevel=2)

    @classmethod
    def _of(cls, image: _e4replay.Image, named: str) -> Image:
        out = cls.__new__(cls)
        out._image = image
        out._named = named
        return out

    def __repr__(self) -> str:
        return f"<e4replay.Image {self._named}{' (closed)' if self._image is None else ''}>"

    def _open(self) -> _e4replay.Image:
        if self._image is None:
            raise Error("the image is closed")
        return self._image

    def close(self) -> None:
        """Releases the image. Arrays and allocators made from it stay valid."""
        self._image = None

    @property
    def file_system(self) -> FileSystem:
        """The facts in the superblock."""
        return self._open().file_system

    def group(self, number: int) -> Group:
        """A group's descriptor."""
        return self._open().group(number)

    def bitmap(self, group: int) -> memoryview:
        """The group's bitmap as 64-bit words, without copying. A bit is set if its cluster is in use. Cluster 0 is the
        least significant bit of the first word."""
        return self._open().bitmap(group)

    def free_clusters(self) -> memoryview:
        """The number of free clusters of each group, according to its descriptor. The method of the same name of
        Allocator(image, loaded=True) counts the bits of the bitmaps."""
        return self._open().free_clusters()

    def free_extents(self, chunk_kb: int = 0) -> FreeExtents:
        """Sizes of free extents, and free chunks of `chunk_kb` KiB (0 means 1 MiB)."""
        return self._open().free_extents(chunk_kb)


class EventReader:
    """The events of a trace of any format, in their order."""

    def __init__(self, path: Path, *, device: str = "", generation: str = "", buffer: str | None = None,
                 lenient: bool = False, any_ratio: bool = False) -> None:
        """any_ratio: accept data that unpack to more than 500 times their size, which no recording does."""
        self._named = os.fsdecode(path)
        self._reader = _e4replay.EventReader.open(
            os.fsencode(path), device, generation, buffer, lenient, any_ratio)

    def __repr__(self) -> str:
        return f"<e4replay.EventReader of {self._named}>"

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        return next(self._reader)


class Capture(_Closable):
    """A capture, or an image and its trace: the input of replays."""

    def __init__(self, path: Path, trace: Path = "", *, tunables_file: Path = "", device: str = "",
                 generation: str = "", buffer: str | None = None, lenient: bool = False, any_ratio: bool = False,
                 strict: bool = False, threads: int = 0) -> None:
        """any_ratio: accept data that unpack to more than 500 times their size, which no recording does."""
        self._named = os.fsdecode(trace or path)
        self._recording: _e4replay.Recording | None = _e4replay.Recording.open(
            os.fsencode(path), os.fsencode(trace), os.fsencode(tunables_file), device, generation, buffer, lenient,
            any_ratio, strict, threads)

    def __repr__(self) -> str:
        return f"<e4replay.Capture {self._named}{' (closed)' if self._recording is None else ''}>"

    def _open(self) -> _e4replay.Recording:
        if self._recording is None:
            raise Error("the capture is closed")
        return self._recording

    def close(self) -> None:
        """Releases the capture. Reports, sweeps and allocators made from it stay valid."""
        self._recording = None

    def replay(self, policies: AnyPolicy | Iterable[AnyPolicy] = (), *, force: bool = False, check: bool = False,
               threads: int = 0, **tunables: int) -> Report:
        """Replays the capture under the policies, like `e4replay replay`. By default, these are the policy of the
        recorded kernel and its neighbours. If one of them is a Python policy, they are replayed one after the other."""
        chosen = _Chosen(policies)
        return Report(self._open().replay(chosen.names, _settings(tunables), force, check, chosen.threads(threads)))

    def verify(self, policy: AnyPolicy = "", *, free_run: bool = False, check: bool = False, threads: int = 0,
               **tunables: int) -> Report:
        """Compares a policy with the recorded kernel, like `e4replay verify`."""
        chosen = _Chosen(policy)
        return Report(self._open().verify(chosen.name, _settings(tunables), free_run, check, chosen.threads(threads)))

    def sweep(self, *, force: bool = False) -> Sweep:
        """Follows the recording once. Each point of the sweep then costs only one replay."""
        return Sweep(self, force=force)

    def decisions(self, policy: AnyPolicy, *, force: bool = False, **tunables: int) -> Decisions:
        """Replays under the policy and returns each request with its decision."""
        return self.sweep(force=force).decisions(policy, **tunables)

    def events(self) -> Iterator[Event]:
        """The recorded events, beginning with the first."""
        return self._open().events()

    @property
    def image(self) -> Image:
        """The file system before the first event."""
        return Image._of(self._open().image(), self._named)

    @property
    def event_count(self) -> int:
        """The number of recorded events."""
        return self._open().event_count()

    @property
    def release(self) -> str:
        """The release of the recorded kernel, as in `uname -r`; empty if unknown."""
        return self._open().release()

    @property
    def tunables(self) -> dict[str, int]:
        """The tunables of the recorded kernel."""
        pairs = (line.split("=", 1) for line in self._open().tunables())
        return {name: int(value) for name, value in pairs}


class Sweep:
    """A recording that has been followed. May be used in several threads at once."""

    def __init__(self, capture: Capture, *, force: bool = False) -> None:
        self._sweep = capture._open().follow(force)
        self._named = capture._named

    def point(self, policy: AnyPolicy, **tunables: int) -> Report:
        """One replay. The report has one column."""
        chosen = _Chosen(policy)
        return Report(self._sweep.point(chosen.name, _settings(tunables)))

    def decisions(self, policy: AnyPolicy, **tunables: int) -> Decisions:
        """Like point(), but returns each request with its decision."""
        chosen = _Chosen(policy)
        return Decisions(self._sweep.decisions(chosen.name, _settings(tunables)))

    def __repr__(self) -> str:
        return f"<e4replay.Sweep of {self._named}>"


def _request(**fields: Any) -> _e4replay.Request:
    out = _e4replay.request()
    for name, value in fields.items():
        try:
            setattr(out, name, value)
        except TypeError:
            raise TypeError(f"{name} is {value!r}: give a whole number that is not negative and not too large") from None
    return out


class Allocator(_Closable):
    """The block allocator of a mounted file system: it decides requests and keeps the resulting state.

    `start` is an Image or a Capture, which is never written to. With `loaded`, the buddies of all groups are in
    memory at the start. One thread may use it at a time.
    """

    def __init__(self, start: Image | Capture, policy: AnyPolicy = "legacy", *, loaded: bool = False,
                 **tunables: int) -> None:
        if not isinstance(start, (Image, Capture)):
            raise TypeError(f"an allocator starts with an Image or a Capture, not {type(start).__name__}")
        chosen = _Chosen(policy)
        self._named = f"{chosen.name} on {start._named}"
        settings = _settings(tunables)
        if isinstance(start, Image):
            image = start._open()
            self._allocator = _e4replay.Allocator.of_image(image, chosen.name, settings, loaded, chosen)
        else:
            recording = start._open()
            self._allocator = _e4replay.Allocator.of_recording(recording, chosen.name, settings, loaded, chosen)

    def __repr__(self) -> str:
        return f"<e4replay.Allocator {self._named}>"

    def close(self) -> None:
        """Closes the allocator. If the policy is a kernel, ends the kernel's process."""
        self._allocator.close()

    def allocate(self, ino: int, len: int, *, logical: int = 0, goal: int = 0, file_size: int = 0,
                 open_for_write: bool = True, flags: int = DATA, cpu: int = 0, left: tuple[int, int] = (0, 0),
                 right: tuple[int, int] = (0, 0)) -> Decision:
        """Serves a request for `len` clusters. If there is no space, returns a Decision without success.

        left, right: the nearest mapped blocks before and after the requested ones, each as (block on the device,
        block in the file).
        """
        return self._allocator.allocate(_request(
            ino=ino, len=len, logical=logical, goal=goal, file_size=file_size, open_for_write=open_for_write, flags=flags,
            cpu=cpu, left_block=left[0], left_logical=left[1], right_block=right[0], right_logical=right[1]))

    def free(self, first: int, count: int, *, file_data: bool = True) -> None:
        """Frees whole clusters, given in blocks. They can be allocated again after commit()."""
        self._allocator.free(first, count, file_data)

    def commit(self) -> None:
        """Commits the running transaction, which makes its freed blocks available."""
        self._allocator.commit()

    def discard(self, ino: int, needed: int = 0) -> None:
        """Releases preallocations of the inode: all, or the `needed` least recently used."""
        self._allocator.discard(ino, needed)

    def make_inode(self, ino: int) -> None:
        """Creates an inode. The first inode of a group initializes its block bitmap."""
        self._allocator.make_inode(ino)

    def drop_inode(self, ino: int) -> None:
        """Removes the inode and its preallocations."""
        self._allocator.drop_inode(ino)

    def group(self, number: int) -> GroupState:
        """The current state of a group."""
        return self._allocator.group(number)

    def bitmap(self, group: int) -> memoryview:
        """A copy of the group's bitmap, in which preallocations and freed clusters are free."""
        return self._allocator.bitmap(group)

    def free_clusters(self) -> memoryview:
        """The number of free clusters of each group. Preallocated clusters are not free."""
        return self._allocator.free_clusters()

    def free_runs(self) -> memoryview:
        """The number of runs of free clusters in each group; 0 if the group is not loaded."""
        return self._allocator.free_runs()

    def largest_order(self) -> memoryview:
        """The order of the largest free buddy chunk of each group; -1 if the group is full or not loaded."""
        return self._allocator.largest_order()

    def free_extents(self) -> FreeExtents:
        """Current sizes of free extents."""
        return self._allocator.free_extents()

    def counters(self) -> dict[str, int]:
        """The counters of mb_stats, under their names in Linux 6.1."""
        return self._allocator.counters()

    def check(self, limit: int = 10) -> list[str]:
        """The broken invariants of the model, at most `limit`."""
        return self._allocator.check(limit)
