#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the speed of a replay under a Python policy with the library's own policy, alternating in one run.

    PYTHONPATH=BUILD/python test/bench/python_policy.py IMAGE TRACE [ROUNDS]
"""
import sys
import time

import e4replay


class Plain(e4replay.Policy):
    """asks CR1's question of every group"""

    calls = 0

    def good(self, search, group):
        self.calls += 1
        return group.free_runs > 0 and group.free_clusters // group.free_runs >= search.goal_len


def main(image, trace, rounds=5):
    sweep = e4replay.Capture(image, trace).sweep()
    policies = {"legacy": "legacy", "cr1.5": "cr1.5", "Python": Plain()}
    times = {name: [] for name in policies}
    for _ in range(int(rounds)):
        for name, policy in policies.items():
            start = time.perf_counter()
            requests = sweep.point(policy)["requests"][0]
            times[name].append(time.perf_counter() - start)
    for name, taken in times.items():
        taken.sort()
        print(f"{name}: {requests / taken[len(taken) // 2]:,.0f} decisions a second, "
              f"{times['legacy'][len(taken) // 2] / taken[len(taken) // 2]:.2f} times legacy's speed")
    print(f"good() was asked {policies['Python'].calls / int(rounds) / requests:.1f} times a decision")


if __name__ == "__main__":
    main(*sys.argv[1:])
