# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: how long lookups of a file's blocks wait while the extent status shrinker reclaims entries of this file, most
# of which are delayed. Needs two CPUs (--target uml-smp or qemu). With --variant lockstat, also how long i_es_lock is
# held for writing, and how long lookups wait for it. In User Mode Linux, the times of lock_stat need a kernel with
# kernel/lab/experiments/um-sched-clock.patch. The figures write_taken and write_hold_* include the insertions that make
# the entries. lookup_excess_ms is the time by which lookups took longer than the median lookup.
# In User Mode Linux, the longest lookups show when the host preempts the CPU that holds the lock, unless the host runs
# the guest with real-time priority (kernel/docs/lab.md, "Targets and variants").
#   BLOCKS=131072   delayed entries
#   HOLES=997       reclaimable entries among them
#   ROUNDS=100      number of times that these entries are made and 2 is written to drop_caches
# image: plain-4g
# mem: 2500M
# timeout: 900
# shellcheck source=kernel/lab/guest/es.sh
. "$LAB/guest/es.sh"
mount_disk "${MOUNT:-noinit_itable}"
nothing_written_back
"$BIN/delayed" --blocks "${BLOCKS:-131072}" "$FS" >/dev/null
drop_all_entries 50
start_lock_stat
"$BIN/eslookup" --blocks "${BLOCKS:-131072}" --holes "${HOLES:-997}" --rounds "${ROUNDS:-100}" \
    --info "$(mb_proc)/es_shrinker_info" "$FS" >>"$E4R_RUN/figures"
es_lock_figures write '&ei->i_es_lock-W'
es_lock_figures read '&ei->i_es_lock-R'
# Fails unless all delayed entries still exist.
"$BIN/delayed" --step seek --blocks "${BLOCKS:-131072}" "$FS" >/dev/null
rm "$FS/delayed0" # the unmount would write each block
umount "$FS"
e2fsck -fn "$DISK"
