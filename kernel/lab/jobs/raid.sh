# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2153,SC2154
# Figures: what writes cost the members of a RAID5 on which the free extents are short. The file system begins at a
# chunk, so the stripes of ext4 are those of the array. The job writes many small files, and then a few large ones. For
# both it prints how many extents the files have, which share of these begin at a stripe, what the array and its members
# wrote, and what the members read in addition to what was read from the array: that is what partial stripes cost.
#   CHUNK=16           KiB of each chunk
#   MEMBERS=5          disks of the array; one of them has parity
#   MIN=100 MAX=400    blocks of a free extent
#   FILES=4000 KIB=64  small files
#   LARGE=8 MIB=64     large files
#   FSYNC=1            fsync after each file. Without it, one sync at the end writes neighbouring files together
#   MOUNT=nodelalloc   mount options
#   MKFS="-O ^has_journal"   features; without a journal, there are fewer writes of a block
# config: raid
# disks: 1G 1G 1G 1G 1G
# mem: 1500M
# timeout: 600
read -ra members <<<"$DISKS"
members=("${members[@]:0:${MEMBERS:-5}}")
data=$((${#members[@]} - 1))
chunk=${CHUNK:-16}
stripe=$((data * chunk / 4))
echo 0 >/proc/sys/dev/raid/speed_limit_max
MDADM_NO_UDEV=1 mdadm --create /dev/md0 --run --quiet --metadata=1.2 --level=5 --chunk="$chunk" \
    --raid-devices=${#members[@]} --bitmap=none --assume-clean "${members[@]}"
DISK=/dev/md0
# The stripe is a mount option and not in the superblock, so the allocations of the program holes do not depend on it.
# shellcheck disable=SC2086 # word splitting is intended
mke2fs -q -F -t ext4 -b 4096 -m 0 -E nodiscard,lazy_itable_init=0,stride=1,stripe_width=1 ${MKFS:--O ^has_journal} $DISK
mount_disk noinit_itable
available=$(stat -f -c %a "$FS") # blocks
"$BIN/holes" --mib $((available / 256 - 8)) --min "${MIN:-100}" --max "${MAX:-400}" "$FS" >>"$E4R_RUN/figures"
umount "$FS"
mount_disk "${MOUNT:-nodelalloc},noinit_itable,stripe=$stripe"
cat "$(mb_proc)/mb_groups" >"$E4R_RUN/mb_groups.before" # loads all groups

# sectors: prints the sectors that were read from the array, read from its members, written to the array, and written to
# its members.
sectors() {
    local name read written in=0 out=0
    for name in "${members[@]##*/}"; do
        read -r _ _ read _ _ _ written _ <"/sys/block/$name/stat"
        in=$((in + read)) out=$((out + written))
    done
    read -r _ _ read _ _ _ written _ </sys/block/md0/stat
    echo "$read $in $written $out"
}

# measure NAME COMMAND...: runs the command, writes everything back, and prints the figures of the files in $FS/NAME.
measure() {
    local name=$1 before after
    mkdir "$FS/$name"
    sync
    before=$(sectors)
    "${@:2}"
    sync
    after=$(sectors)
    awk -v name="$name" -v before="$before" -v after="$after" 'BEGIN {
        split(before, b); split(after, a)
        wrote = (a[3] - b[3]) / 2048; members = (a[4] - b[4]) / 2048
        extra = (a[2] - b[2] - (a[1] - b[1])) / 2048
        printf "%s/array_wrote_mib %.1f\n%s/members_wrote_mib %.1f\n", name, wrote, name, members
        printf "%s/members_read_mib %.1f\n%s/read_per_written %.3f\n", name, extra, name, extra / wrote }' \
        >>"$E4R_RUN/figures"
    find "$FS/$name" -type f -print0 | xargs -0 -n 8000 filefrag -v |
        awk -v name="$name" -v stripe=$stripe '
            $1 ~ /^[0-9]+:$/ {
                start = $4; sub(/[.].*/, "", start)
                ++extents; aligned += start % stripe == 0
            }
            / extents? found$/ { ++files }
            END {
                printf "%s/extents_per_file %.3f\n%s/aligned_percent %.1f\n", name, extents / files, name,
                    100 * aligned / extents }' >>"$E4R_RUN/figures"
}

measure small "$BIN/mkfiles" --files "${FILES:-4000}" --kib "${KIB:-64}" --fsync "${FSYNC:-1}" "$FS/small" >/dev/null
large() {
    local file sync=()
    [ "${FSYNC:-1}" = 0 ] || sync=(conv=fsync)
    for ((file = 0; file < ${LARGE:-8}; ++file)); do
        dd if=/dev/zero of="$FS/large/$file" bs=1M count="${MIB:-64}" "${sync[@]}" status=none
    done
}
measure large large
stats_as_figures
umount "$FS"
e2fsck -fn $DISK
mdadm --stop --quiet $DISK
