# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: the load of the posting "extents status tree shrinker improvement". In four threads, fio writes runs of 32
# blocks at random places of sparse files. The files have more data than the guest has memory, so memory reclaim calls
# the extent status shrinker; drop_caches is not used.
#   IO=192m       data written by each thread
#   SIZE=2g       size of each file
# image: plain-4g
# mem: 512M
# timeout: 600
# shellcheck source=kernel/lab/guest/es.sh
. "$LAB/guest/es.sh"
mount_disk "${MOUNT:-noinit_itable}"
echo 80 >/proc/sys/vm/dirty_ratio
echo 60 >/proc/sys/vm/dirty_background_ratio
start_es_trace
start_reclaim_counts
fio --name=job --ioengine=psync --rw=randwrite:32 --bs=4k --fallocate=none --thread --numjobs=4 \
    --size="${SIZE:-2g}" --io_size="${IO:-192m}" --randseed=1 --directory="$FS" --group_reporting \
    --output-format=json --output="$E4R_RUN/fio.json"
reclaim_figures
es_figures
slab_figures after
jq -r '.jobs[0].write | "iops \(.iops)", (.clat_ns.percentile |
    "lat_p50_us \(."50.000000" / 1000)", "lat_p99_us \(."99.000000" / 1000)")' \
    "$E4R_RUN/fio.json" >>"$E4R_RUN/figures"
umount "$FS"
e2fsck -fn "$DISK"
