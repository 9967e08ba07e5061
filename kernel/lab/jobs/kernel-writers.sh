# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: operations per second of 1, 2, ... kernel threads, which write without system calls. Needs a kernel with
# kernel/lab/experiments/kernel-writers.patch, on uml-smp. With KIND=files, the threads write files of 64 KiB to one
# directory, and the job counts their extents. With KIND=fallocate, a file grows by 8 KiB at a time up to 1 MiB, and is
# then truncated. WRITERS is a list of numbers of writers. COUNT is the number of operations for each of them. The
# variant lockstat also measures waits for locks.
# image: posting
# mem: 4G
# timeout: 900
kind=${KIND:-files}
mount_disk "${MOUNT:-nodelalloc,noinit_itable}"
cat "$(mb_proc)/mb_groups" >/dev/null # loads every group
"$BIN/kernelwriters" --kind "$kind" --count 100 "$FS" >/dev/null
for writers in ${WRITERS:-1 2 4 8 16}; do
    home=$FS/$writers-writers
    mkdir "$home"
    sync
    start_lock_stat
    "$BIN/kernelwriters" --kind "$kind" --writers "$writers" --count "${COUNT:-4000}" "$home" |
        sed "s/^per_s/${kind}_per_s_$writers/; s/^write_s/write_s_$writers/" >>"$E4R_RUN/figures"
    lock_figures_of "$writers"
    [ "$kind" != files ] || find "$home" -type f -print0 | xargs -0 -n 8000 filefrag |
        awk -v writers="$writers" '{ extents += $(NF - 2); ++files }
            END { print "extents_per_file_" writers, extents / files }' >>"$E4R_RUN/figures"
done
umount "$FS"
