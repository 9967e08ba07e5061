# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: files per second for several numbers of writing processes, on ext4 and on tmpfs. The figures of tmpfs show
# how the guest itself scales with the number of CPUs. WRITERS is a list of numbers of processes. Each process writes
# FILES files of KIB KiB.
# image: posting
# mem: 4G
# timeout: 900
mount_disk "${MOUNT:-nodelalloc,noinit_itable}"
cat "$(mb_proc)/mb_groups" >/dev/null # loads every group
"$BIN/mkfiles" --processes 2 --files 500 "$FS" >/dev/null
for writers in ${WRITERS:-1 2 4 8 16}; do
    for place in "$FS" "$TMPDIR"; do
        mkdir "$place/w$writers"
        "$BIN/mkfiles" --processes "$writers" --files "${FILES:-4000}" --kib "${KIB:-64}" "$place/w$writers" |
            awk -v name="$(basename "$place")" -v writers="$writers" \
                '$1 == "files_per_s" { print name "_files_per_s_" writers, $2 }' >>"$E4R_RUN/figures"
    done
    rm -r "$TMPDIR/w$writers"
done
umount "$FS"
