# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: memory pressure with many delayed entries. The job reads fragmented files one after the other. Meanwhile,
# another file has many delayed entries, because every second block of it has been written but not written back.
#   FILES=40 BLOCKS=2000   files to read, and fragments of each
#   DELAYED=30000          delayed entries, each with a dirty page
#   ROUNDS=3               number of times that all files are read
# image: plain-4g
# mem: 384M
# timeout: 600
# shellcheck source=kernel/lab/guest/es.sh
. "$LAB/guest/es.sh"
mount_disk "${MOUNT:-noinit_itable}"
mkdir "$FS/read" "$FS/held"
"$BIN/delayed" --files "${FILES:-40}" --blocks "${BLOCKS:-2000}" "$FS/read" >/dev/null
umount "$FS"
mount_disk "${MOUNT:-noinit_itable}"
nothing_written_back
"$BIN/delayed" --blocks "${DELAYED:-30000}" "$FS/held" >/dev/null
slab_figures before
start_es_trace
start_reclaim_counts
started=${EPOCHREALTIME/./}
for ((round = 0; round < ${ROUNDS:-3}; ++round)); do
    cat "$FS"/read/* >/dev/null
done
figure read_s "$(((${EPOCHREALTIME/./} - started) / 1000))e-3"
reclaim_figures
es_figures
figure entries_left "$(entries all)"
slab_figures after
# Fails unless all delayed entries still exist.
"$BIN/delayed" --step seek --blocks "${DELAYED:-30000}" "$FS/held" >/dev/null
umount "$FS"
e2fsck -fn "$DISK"
