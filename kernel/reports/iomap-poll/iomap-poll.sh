# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# A job of the lab: runs iomap-poll.c in a guest, on memory disks with a poll queue. The disks have no virtual boundary,
# and then one that keeps the block layer from merging bios. Fails if a polled write fails.
#   kernel/lab/lab run kernel/reports/iomap-poll/iomap-poll.sh --kernel 7.3
#   BOUNDARIES="0 1"
#   FILESYSTEM=ext4    or xfs, for kernels with --variant plain+xfs
# mem: 512M
# timeout: 240
# append: null_blk.nr_devices=0 null_blk.poll_queues=1
# shellcheck source=kernel/lab/guest/null_blk.sh
. "$LAB/guest/null_blk.sh"
gcc -O2 -Wall -Wextra -o "$TMPDIR/iomap-poll" "${JOB%.sh}.c"
failed=0
for boundary in ${BOUNDARIES:-0 1}; do
    make_null_blk size=512 blocksize=512 irqmode=0 completion_nsec=0 hw_queue_depth=64 poll_queues=1 \
        max_sectors=0 virt_boundary="$boundary"
    case ${FILESYSTEM:-ext4} in
    ext4) mkfs.ext4 -q -b 4096 "$DISK" ;;
    xfs) mkfs.xfs -q -f -s size=512 -b size=4096 "$DISK" ;;
    esac
    mount -t "${FILESYSTEM:-ext4}" "$DISK" "$FS"
    status=0
    "$TMPDIR/iomap-poll" "$FS/file" || status=$?
    [ $status -lt 2 ] # 2: the test could not run
    figure "boundary/$boundary/failed" $status
    failed=$((failed | status))
    umount "$FS"
done
[ $failed = 0 ]
