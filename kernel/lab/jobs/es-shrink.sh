# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: how many entries the extent status shrinker visits and how many it reclaims, if most entries are delayed and
# must be kept.
#   FILES=1 BLOCKS=131072    files, and delayed entries in each
#   HOLES=997                reclaimable entries in each file, evenly spaced, that have not been looked up since
#                            their creation. Or "all": a reclaimable entry for every hole between two delayed
#                            entries; the writes have looked these entries up
#   PASSES=6                 number of times that 2 is written to drop_caches
#   HOLDS=1                  also measure how long an inode's lock is held, on kernels that report it
# The number of visited entries is nr_visited of the event ext4_es_shrink, if the kernel has it. On stock, the job adds
# up nr_to_scan of the calls instead: each call visits that many entries as long as more entries exist. visit_ns is the
# median over the calls. reclaim_ns is visit_ns times the visits per reclaimed entry.
# image: plain-4g
# mem: 2500M
# timeout: 600
# append: slab_nomerge
# shellcheck source=kernel/lab/guest/es.sh
. "$LAB/guest/es.sh"
files=${FILES:-1}
blocks=${BLOCKS:-131072}
holes=${HOLES:-997}
mount_disk "${MOUNT:-noinit_itable}"
nothing_written_back
"$BIN/delayed" --files "$files" --blocks "$blocks" "$FS" >>"$E4R_RUN/figures"
if [ "$holes" != all ]; then
    drop_all_entries 0
    "$BIN/delayed" --step read --files "$files" --blocks "$blocks" --holes "$holes" "$FS" \
        >>"$E4R_RUN/figures"
    expect_entries "$((files * (blocks + holes)))" "$((files * holes))"
else
    expect_entries "$((2 * files * blocks))" "$((files * blocks))"
fi
slab_figures before
start_es_trace
for ((pass = 1; pass <= ${PASSES:-6}; ++pass)); do
    had=$(entries reclaimable)
    echo 2 >/proc/sys/vm/drop_caches
    figure "pass$pass/reclaimed" "$((had - $(entries reclaimable)))"
done
es_figures
figure left "$(entries reclaimable)"
slab_figures after
# Fails unless all delayed entries still exist.
"$BIN/delayed" --step seek --files "$files" --blocks "$blocks" "$FS" >>"$E4R_RUN/figures"
umount "$FS"
e2fsck -fn "$DISK"
