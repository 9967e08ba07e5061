# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: the mixes of churn run while the extent status shrinker works. Files must have the right contents, and no
# block may stay reserved for a delayed write that has ended. With --variant debug, a kernel with es-shrinker checks
# every tree when its inode is evicted.
# image: plain-4g
# timeout: 900
# shellcheck source=kernel/lab/guest/es.sh
. "$LAB/guest/es.sh"
start_es_trace
mount_disk "${MOUNT:-defaults}"
start_shrinking 0.01
for mix in basic holes; do
    churn_mix "$mix" "$mix"
done
stop_shrinking
es_figures
reclaimed=$(sed -n 's/^reclaimed //p' "$E4R_RUN/figures")
if [ "$reclaimed" -lt 1000 ]; then
    say "only $reclaimed entries were reclaimed: too few for a test"
    exit 1
fi
sync
# With --variant es-test, the kernel prints such a line if a tree disagrees with the file's mapping.
echo "es_assertions $(dmesg | grep -c 'ES [a-z]* assertion failed')" >>"$E4R_RUN/figures"
reserved=$(cat "$(knobs)/delayed_allocation_blocks")
if [ "$reserved" != 0 ] || dmesg | grep "reserved_data_blocks.* not cleared"; then
    say "$reserved blocks are reserved for nothing"
    exit 1
fi
umount "$FS"
mount_disk "${MOUNT:-defaults}"
for mix in basic holes; do
    check_mix "$mix"
done
umount "$FS"
e2fsck -fn "$DISK"
