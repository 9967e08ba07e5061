# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
# Correctness: with write=eager and write=wait, no write() waits for the periodic flusher, even if the file is larger
# than the dirty limit. For each second of the longest write(), the job shows the events of the writers and of the
# flusher. It leaves the traces in stall/ in the run's directory.
#   EAGER="eager wait"   mount options to try
#   LONGEST_MS=5000      limit for a write()
#   MIB=128, WSIZE, VERS, RATE: see nfs-stream
# series: nfs-eager
# config: nfs
# peer: nfs-server
# mem: 256M
# timeout: 300
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
client
umount "$mount_dir"
mkdir "$E4R_RUN/stall"
TRACE_KB=${TRACE_KB:-16000}
events="nfs:nfs_initiate_write nfs:nfs_writeback_done nfs:nfs_initiate_commit nfs:nfs_commit_done
    writeback:balance_dirty_pages writeback:writeback_start writeback:writeback_single_inode_start"

# timeline FILE: prints a line for each second since the first event.
timeline() {
    awk '
        {
            for (i = 1; i <= NF; ++i) if ($i ~ /^[0-9]+[.][0-9]+:$/) break
            t = $i + 0; event = $(i + 1); sub(/:$/, "", event)
            if (!start) start = t
            s = int(t - start); if (s > last) last = s
            ++n[s, event]
            if (event == "balance_dirty_pages")
                for (; i <= NF; ++i)
                    if (split($i, v, "=") == 2 && (v[1] == "limit" || v[1] == "dirty")) at[s, v[1]] = v[2]
            if (event == "writeback_start") {
                match($0, /reason=[a-z_]+/); why[s] = why[s] " " substr($0, RSTART + 7, RLENGTH - 7)
            }
        }
        END {
            print "second WRITEs done COMMITs done held limit dirty flusher"
            for (s = 0; s <= last; ++s) {
                held = n[s, "balance_dirty_pages"] + 0
                print s, n[s, "nfs_initiate_write"] + 0, n[s, "nfs_writeback_done"] + 0,
                    n[s, "nfs_initiate_commit"] + 0, n[s, "nfs_commit_done"] + 0, held,
                    held ? at[s, "limit"] " " at[s, "dirty"] : "- -", why[s] == "" ? "-" : why[s]
            }
        }' "$1"
}

failed=0
for how in ${EAGER:-eager wait}; do
    MOUNT=write=$how
    mount_nfs
    start_trace
    counts_begin
    "$BIN/nfsstream" --mib "${MIB:-128}" --name "$how" --check 1 "$mount_dir" >"$E4R_RUN/figures.part"
    op_counts >"$E4R_RUN/counts.after"
    counted >>"$E4R_RUN/figures.part"
    save_trace "$E4R_RUN/stall/$how"
    timeline "$E4R_RUN/stall/$how" >"$E4R_RUN/stall/$how.timeline"
    sed "s/^/$how\//" "$E4R_RUN/figures.part" >>"$E4R_RUN/figures"
    umount "$mount_dir"
    awk -v most="${LONGEST_MS:-5000}" '$1 == "write_max_ms" && $2 > most { bad = 1 } END { exit bad }' \
        "$E4R_RUN/figures.part" || failed=1
done
if [ $failed = 1 ]; then
    cat "$E4R_RUN"/stall/*.timeline
    say "a write() took longer than ${LONGEST_MS:-5000} ms"
    exit 1
fi
