# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: how much of the time the lazyinit thread keeps a disk busy, while the speed of the disk changes. Runs on any
# kernel. The work on a group begins with the thread's first request (a block event), and ends with the trace event of
# the group, which comes after the last request. The share is the duration of this work divided by the time from one
# group to the next.
#   DELAYS="20 100 20"   milliseconds per write in each phase; "none": no dm-delay on the disk
#   COUNT=25             groups per phase
#   MULT=10              multiplier of the wait; the intended share is 1 / (MULT + 1)
#   BARRIER=1            the mount option barrier: 1 or 0
#   GEOMETRY="-b 1024"   options of mke2fs
# image: plain-1g
# timeout: 900
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"
sectors=$(blockdev --getsz "$DISK")
below=$DISK

delay_table() {
    echo "0 $sectors delay $below 0 0 $below 0 $1"
}

groups_traced() {
    grep -c 'ext4_lazy_itable_init:' "$TRACING/trace" || true
}

traced_at_least() {
    [ "$(groups_traced)" -ge "$1" ]
}

# phase_figures NUMBER: computes the share from the trace of this phase. Skips the first group, which began before the
# phase.
phase_figures() {
    awk -v phase="$1" -v disk="$(tr : , <"/sys/class/block/$(basename "$DISK")/dev")" '
        { at = 0; for (i = 1; i <= 5 && !at; ++i) if ($i ~ /^[0-9]+\.[0-9]+:$/) at = $i + 0 }
        /block_bio_queue:.*\[ext4lazyinit\]/ {
            for (i = 1; $i != "block_bio_queue:"; ++i);
            if ($(i + 1) == disk && !begun) begun = at
        }
        /ext4_lazy_itable_init:/ {
            if (groups++) { total += at - last; taken += begun ? at - begun : 0 }
            last = at; begun = 0
        }
        END {
            printf "phase%d_groups %d\nphase%d_ms_per_group %.3f\n", phase, groups - 1, phase,
                1000 * taken / (groups - 1)
            printf "phase%d_period_ms %.3f\nphase%d_share_percent %.2f\n", phase,
                1000 * total / (groups - 1), phase, 100 * taken / total
        }' "$TRACING/trace" >>"$E4R_RUN/figures"
}

# shellcheck disable=SC2086 # word splitting is intended
make_lazy ${GEOMETRY:--b 1024}
phase=0
for delay in ${DELAYS:-20 100 20}; do
    phase=$((phase + 1))
    if [ $phase = 1 ]; then
        if [ "$delay" != none ]; then
            dmsetup create slow --table "$(delay_table "$delay")"
            DISK=/dev/dm-0
        fi
        echo mono >"$TRACING/trace_clock"
        echo 20000 >"$TRACING/buffer_size_kb"
        for event in block/block_bio_queue ext4/ext4_lazy_itable_init; do
            echo 1 >"$TRACING/events/$event/enable"
        done
        mount -o "init_itable=${MULT:-10},barrier=${BARRIER:-1}" "$DISK" "$FS"
    else
        dmsetup reload slow --table "$(delay_table "$delay")"
        dmsetup resume slow
    fi
    : >"$TRACING/trace"
    wait_until 300 traced_at_least $((${COUNT:-25} + 1))
    phase_figures $phase
done
umount "$FS"
e2fsck -fn "$DISK"
