# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: fio's direct overwrites of a file by 8 threads, as in the posting "ext4: allow concurrent unaligned
# dio overwrites", on a memory disk with a fixed time per request (null_blk).
#   NSEC=1000000     nanoseconds per request
#   IRQMODE=2        how the disk completes requests (null_blk): 1 at once, 2 after that time
#   BS=2k            bytes per write
#   JOBS=8           threads or processes
#   DEPTH=256        writes in flight per thread
#   RUNTIME=5        seconds of measuring
#   QUEUE=2048       requests that the disk handles at a time
#   RW=write         fio's rw: write or randwrite
#   SIZE=256m        size of the file
#   LAY=1m           bytes per write while the job creates the file
#   PROCESSES=1      use processes. By default, fio uses threads, which on uml-smp do not run in parallel
# mem: 3G
# timeout: 300
# shellcheck source=kernel/lab/guest/null_blk.sh
. "$LAB/guest/null_blk.sh"
make_null_blk size=2048 blocksize=512 "completion_nsec=${NSEC:-1000000}" "irqmode=${IRQMODE:-2}" \
    "hw_queue_depth=${QUEUE:-2048}" max_sectors=2560
# shellcheck disable=SC2086 # word splitting is intended
mke2fs -q -F -t ext4 -E nodiscard,lazy_itable_init=0 ${GEOMETRY:--b 4096} "$DISK"
mount -t ext4 -o "${MOUNT:-noinit_itable}" "$DISK" "$FS"
threads=--thread
[ -z "${PROCESSES:-}" ] || threads=
common="--ioengine=libaio --direct=1 $threads --filename=$FS/file --size=${SIZE:-256m}"
# shellcheck disable=SC2086
fio --name=lay --bs="${LAY:-1m}" --rw=write --iodepth=16 --end_fsync=1 $common >/dev/null
# shellcheck disable=SC2086
fio --name=job --bs="${BS:-2k}" --rw="${RW:-write}" --overwrite=1 --numjobs="${JOBS:-8}" \
    --iodepth="${DEPTH:-256}" --runtime="${RUNTIME:-5}" --time_based --group_reporting \
    --output-format=json --output="$E4R_RUN/fio.json" $common
jq -r '.jobs[0].write | "iops \(.iops)", (.clat_ns.percentile |
    "lat_p50_us \(."50.000000" / 1000)", "lat_p99_us \(."99.000000" / 1000)")' \
    "$E4R_RUN/fio.json" >>"$E4R_RUN/figures"
umount "$FS"
e2fsck -fn "$DISK"
