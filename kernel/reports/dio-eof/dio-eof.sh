# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# A job of the lab: runs dio-eof.c in a guest, on a memory disk that handles one request at a time and sorts the others.
# Fails if bytes are lost.
#   kernel/lab/lab run kernel/reports/dio-eof/dio-eof.sh --kernel 7.3
#   VARIANTS="overlap append truncate inside"
#   MKFS="-t ext4 -b 4096", MOUNT=defaults
# mem: 512M
# timeout: 240
# append: null_blk.nr_devices=0
# shellcheck source=kernel/lab/guest/null_blk.sh
. "$LAB/guest/null_blk.sh"
make_null_blk size=128 blocksize=512 completion_nsec=300000 hw_queue_depth=1 max_sectors=2560
echo mq-deadline >/sys/block/lab/queue/scheduler
echo 256 >/sys/block/lab/queue/nr_requests
# shellcheck disable=SC2086 # word splitting is intended
mkfs ${MKFS:--t ext4 -b 4096} -q "$DISK"
mount -o "${MOUNT:-defaults}" "$DISK" "$FS"
gcc -O2 -Wall -Wextra -o "$TMPDIR/dio-eof" "${JOB%.sh}.c"
lost=0
for variant in ${VARIANTS:-overlap append truncate inside}; do
    status=0
    "$TMPDIR/dio-eof" "$variant" "$FS" || status=$?
    [ $status -lt 2 ] # 2: the test could not run
    figure "$variant/lost" $status
    lost=$((lost | status))
done
umount "$FS"
e2fsck -fn "$DISK"
[ $lost = 0 ]
