#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests that the lab parses /proc/lock_stat in the layout of Linux 6.1.
#   lock_figures_test.sh GUEST-LIB
set -euo pipefail
# shellcheck source=kernel/lab/guest/lib.sh
. "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "lock_figures_test: $*" >&2
    exit 1
}

# class NAME NUMBER...: prints the line of a lock class, with the columns con-bounces to holdtime-avg.
class() {
    printf '%40s:%14s  ' "$1" "$2"
    printf ' %14s' "${@:3}"
    echo
}
# point NAME COUNT WHERE: prints the line of a place in the code that waits for the lock.
point() {
    printf '%40s %14s %29s %s\n' "$1" "$2" "[<0000000012345678>]" "$3"
}

{
    echo "lock_stat version 0.4"
    printf -- '-%.0s' {1..221}
    echo
    printf '%40s %14s %14s\n' "class name" con-bounces contentions
    class '&bgl->locks[i].lock' 7 11 0.10 90.00 1234.56 112.23 500 40000 0.05 800.00 9999.49 0.25
    point '&bgl->locks[i].lock' 9 'ext4_mb_find_by_goal+0x33/0x2b0'
    point '&bgl->locks[i].lock' 2 'ext4_mb_mark_diskspace_used+0x1c/0x300'
    echo
    class '&sbi->s_mb_largest_free_orders_locks[-W' 1 2 1.00 2.00 3.00 1.50 4 50 1.00 1.00 60.00 1.20
    class '&sbi->s_mb_largest_free_orders_locks[-R' 1 1 1.00 1.00 1.00 1.00 4 10 1.00 1.00 20.00 2.00
    class '&sbi->s_mb_avg_fragment_size_locks[i]-W' 0 0 0.00 0.00 0.00 0.00 4 100 1.00 1.00 7.00 0.07
    class '&rq->__lock' 0 3 1.00 1.00 3000000000.00 1.00 1 5 1.00 1.00 5000000000.25 1.00
    class 'elock-AF_UNIX:x/1' 0 0 0.00 0.00 0.00 0.00 1 2 1.00 1.00 3.00 1.00
} >"$work/stat"
cat >"$work/want" <<'TEXT'
group_lock_contentions 11
group_lock_wait_us 1235
group_lock_taken 40000
group_lock_hold_us 9999
list_locks_contentions 3
list_locks_wait_us 4
list_locks_taken 160
list_locks_hold_us 87
all_locks_contentions 17
all_locks_wait_us 3000001239
all_locks_taken 40167
all_locks_hold_us 5000010090
TEXT
sums_of_locks "$work/stat" >"$work/got"
diff -u "$work/want" "$work/got" || fail "sums differ"

grep -v bgl "$work/stat" >"$work/none"
if sums_of_locks "$work/none" >"$work/got" 2>&1; then fail "took a file without group locks"; fi
grep -q 'no group lock' "$work/got" || fail "said: $(cat "$work/got")"
sed '1a *WARNING* lock debugging disabled!! - possibly due to a lockdep warning' "$work/stat" \
    >"$work/given-up"
if sums_of_locks "$work/given-up" >"$work/got" 2>&1; then fail "took what lockdep gave up"; fi
