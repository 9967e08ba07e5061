# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: what the extent status shrinker visits and reclaims where most entries are delayed, and
# therefore must be kept.
#   FILES=1 BLOCKS=131072    files, and delayed entries in each
#   HOLES=997                reclaimable entries in each, at even distances, that nobody has looked up
#                            since they were made; or "all": those that the writes leave, between any
#                            two delayed ones, looked up by the writes
#   PASSES=6                 echo 2 > drop_caches
#   HOLDS=1                  also for how long the lock of an inode is held, of kernels that say so
# Entries visited: nr_visited of ext4_es_shrink where the kernel has it. Stock does not say. There it
# is nr_to_scan of the calls, each of which uses it up as long as there are more entries than that.
# visit_ns is the median over the calls, reclaim_ns that times the visits for each entry reclaimed.
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
    drop_all_entries
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
# The delayed ones are all there.
"$BIN/delayed" --step seek --files "$files" --blocks "$blocks" "$FS" >>"$E4R_RUN/figures"
umount "$FS"
e2fsck -fn "$DISK"
