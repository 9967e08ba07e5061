# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: how fast a second process writes while a file is written sequentially through NFS (nfs-stream). The second
# process writes at random places and then calls fsync.
#   OTHER=file           where the second process writes. file: another file of the mount; same: the same file;
#                        mount: another mount of the server; tmpfs: a file outside NFS
#   OTHER_MIB=16 OTHER_KIB=16    total amount and size of the second process's writes
#   MIB=256, SYSCTLS and the other variables of nfs-stream
# config: nfs
# peer: nfs-server
# mem: 256M
# timeout: 600
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
client
place=$mount_dir/other
case ${OTHER:-file} in
file) ;;
same) place=$mount_dir/stream ;;
mount)
    mkdir "$TMPDIR/second"
    first=$mount_dir mount_dir=$TMPDIR/second MOUNT=${MOUNT:+$MOUNT,}nosharecache
    mount_nfs
    mount_dir=$first place=$TMPDIR/second/other
    ;;
tmpfs) place=$TMPDIR/other ;;
*) say "no OTHER '$OTHER'" && exit 1 ;;
esac
"$BIN/nfsstream" --mib "${MIB:-256}" --kib "${KIB:-64}" "$mount_dir" >>"$E4R_RUN/figures" &
sleep 0.5
fio --name=other --filename="$place" --allow_file_create=1 --ioengine=psync --rw=randwrite --thread \
    --bs="${OTHER_KIB:-16}k" --size="${OTHER_MIB:-16}m" --end_fsync=1 --randseed=1 --fallocate=none \
    --output-format=json --output="$E4R_RUN/fio.json"
wait
jq -r '.jobs[0] | "other_mib_per_s \(.write.bw / 1024)",
    "other_p99_us \(.write.clat_ns.percentile."99.000000" / 1000)",
    "other_max_ms \(.write.clat_ns.max / 1e6)"' "$E4R_RUN/fio.json" >>"$E4R_RUN/figures"
[ "${OTHER:-file}" != mount ] || umount "$TMPDIR/second"
umount "$mount_dir"
