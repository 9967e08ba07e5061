# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Runs the workload of the CR1.5 posting: 10 threads write 40,000 files of 64 KiB to a disk whose free extents are
# shorter than the goal. Use it with --image posting, midfrag, smallfiles or posting-empty. With PROCESSES=N, N
# processes write the files; on uml-smp they can use several CPUs. With TOGETHER=1, all write into one directory.
# image: posting
# mem: 4G
# timeout: 900
mount_disk "${MOUNT:-nodelalloc,noinit_itable}"
if [ "${WARM:-1}" = 1 ]; then cat "$(mb_proc)/mb_groups" >"$E4R_RUN/mb_groups.before"; fi
start_lock_stat
"$BIN/mkfiles" --threads "${THREADS:-10}" --processes "${PROCESSES:-0}" --together "${TOGETHER:-0}" \
    --files "${FILES:-40000}" --kib "${KIB:-64}" "$FS" \
    >>"$E4R_RUN/figures"
lock_figures
figure system_s "$(awk '/^cpu / { print $4 / 100 }' /proc/stat)"
stats_as_figures
cat "$(mb_proc)/mb_groups" >"$E4R_RUN/mb_groups.after"
awk '/^#[0-9]/ { free += $3; extents += $4 }
    END { print "free_extents", extents; print "free_extent_clusters", free / extents }' \
    "$E4R_RUN/mb_groups.after" >>"$E4R_RUN/figures"
# Start one filefrag for thousands of files, because fork is slow in a guest.
find "$FS" -name lost+found -prune -o -type f -print0 | xargs -0 -n 8000 filefrag |
    awk '{ extents += $(NF - 2); ++files } END { print "extents_per_file", extents / files }' \
        >>"$E4R_RUN/figures"
umount "$FS"
