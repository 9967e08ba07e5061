# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: the time that the lazyinit thread takes for all groups on an idle system, and the number of cache flushes. As
# in lazyinit-postmark, the disk is null_blk, and the clock stands still while the guest computes. Runs on any kernel.
#   MULT=10              multiplier of the wait between groups
#   CACHE=none           none, null_blk or loop, as for lazyinit-postmark
#   BARRIER=1            the mount option barrier: 1 or 0
# mem: 3G
# timeout: 900
# append: time-travel=inf-cpu null_blk.nr_devices=0
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"
make_cached_disk
make_lazy -b 4096 -g 8192 -i 4096
traced() {
    [ "$(grep -c ext4_lazy_itable_init: "$TRACING/trace")" -ge "$groups" ]
}
echo mono >"$TRACING/trace_clock"
echo 1 >"$TRACING/events/ext4/ext4_lazy_itable_init/enable"
flushed=$(flushes)
mount -o "init_itable=${MULT:-10},barrier=${BARRIER:-1}" "$DISK" "$FS"
# Measure from the end of the first group to the end of the last, because the thread starts at a random time.
until traced; do sleep 5; done
figure flushes $(($(flushes) - flushed))
awk '/ext4_lazy_itable_init:/ {
        for (i = 1; i <= 5; ++i) if ($i ~ /^[0-9]+\.[0-9]+:$/) { last = $i + 0; break }
        if (!groups++) first = last
    }
    END { printf "seconds %.3f\ngroups %d\n", last - first, groups }' "$TRACING/trace" >>"$E4R_RUN/figures"
umount "$FS"
e2fsck -fn "$DISK"
