# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: a write to lazyinit_wait_mult changes the current wait, and a value that is not a number is refused. A
# read shows the value that a remount has set.
# image: plain-1g
# timeout: 300
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"
make_lazy -b 1024
mount -o init_itable=1000000 "$DISK" "$FS"
expect "multiplier of the mount" "$(lazy wait_mult)" 1000000
for bad in -1 x 4294967296 ''; do
    if set_lazy wait_mult "$bad" 2>/dev/null; then
        say "wait_mult took '$bad'"
        false
    fi
done
expect "multiplier after bad ones" "$(lazy wait_mult)" 1000000
# A group takes at least 0.1 ms, so with this multiplier the wait lasts minutes.
wait_until 30 at_least 1
sleep 3
before=$(lazy "done")
expect_that "groups at a huge multiplier" "$before" -le 2
mount -o remount,init_itable=900000 "$FS"
expect "multiplier of the remount" "$(lazy wait_mult)" 900000
mount -o remount,init_itable "$FS"
expect "multiplier of a remount without one" "$(lazy wait_mult)" 10
set_lazy wait_mult 500000
grep -q "$FS.*init_itable=500000" /proc/mounts
sleep 1
# If the multiplier changes to 0 during a wait, all remaining groups must be initialized at once.
started=$(date +%s%N)
set_lazy wait_mult 0
wait_until 20 all_done
figure live_ms $((($(date +%s%N) - started) / 1000000))
# The thread drops the request a moment after it has counted the last group.
wait_until 2 state_is idle
expect "state at the end" "$(lazy_state)" "idle $groups 0"
wait_until 5 no_thread
check_finished
