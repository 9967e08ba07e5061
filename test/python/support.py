# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that the tests of the package share. Environment variables name the tool and the unpacked captures."""

import functools
import os
import subprocess

import e4replay

TOOL = os.environ["E4REPLAY"]
CAPTURES = os.environ["E4R_CAPTURES"]
SOURCE = os.environ["E4R_SOURCE"]


def path(name):
    return os.path.join(CAPTURES, name)


IMAGE, TRACE = path("churn-4k.img"), path("churn-4k.trace.zst")


@functools.lru_cache(maxsize=None)
def churn():
    return e4replay.Capture(IMAGE, TRACE)


@functools.lru_cache(maxsize=None)
def churn_sweep():
    return churn().sweep()


def printed(*words, status=0):
    """Returns the tool's standard output or, if it fails, its standard error."""
    done = subprocess.run([TOOL, *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def without_times(document):
    """Returns JSON data without the members that differ from run to run."""
    if isinstance(document, dict):
        return {key: without_times(value) for key, value in document.items()
                if not key.endswith("_s") and "per_s" not in key}
    if isinstance(document, list):
        return [without_times(value) for value in document]
    return document


class Plain(e4replay.Policy):
    """CR1's question, asked by Python"""

    def good(self, search, group):
        return group.free_runs > 0 and group.free_clusters // group.free_runs >= search.goal_len


class Roomy(e4replay.Policy):
    """what examples/roomy.cc does"""

    criterion = "roomy"
    striped = True
    lengths = "long_runs"

    def least_order(self, search):
        return (max(search.full_goal_len // 4, search.asked_len, 2) - 1).bit_length()

    def applies(self, search):
        return search.has_lists

    def good(self, search, group):
        return not group.is_damaged and group.free_runs > 0 and group.largest_order >= self.least_order(search)

    def choose(self, search):
        for order in range(search.orders - 1, self.least_order(search) - 1, -1):
            for group in search.by_largest(order):
                if not search.is_usable(group):
                    continue
                search.count_group()
                if self.good(search, group):
                    search.goal_len = min(search.full_goal_len, 1 << order)
                    return group
        search.restore_goal()
        return None

    def leave(self, search):
        search.restore_goal()
