# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: one file is written sequentially through NFS to a server in a second guest. The figures are the speed, the
# numbers of COMMITs and WRITEs, the number of write() calls that take over 100 ms, the time of the fsync at the end,
# and the largest amount of memory that is dirty or under writeback.
#   MIB=512 KIB=64       size of the file, and of each write()
#   LAUNDER=16           drop clean pages that are more than 16 MiB behind the writer; 0: keep all pages
#   SYSCTLS="vm.dirty_bytes=1048576 ..."    sysctls to set on the client
#   SERVER_DISK, SERVER_MS, WSIZE, VERS, MOUNT, RATE, LINK_MS: see guest/nfs.sh
# config: nfs
# peer: nfs-server
# mem: 256M
# timeout: 600
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
client
counts_begin
start_reclaim_counts
"$BIN/nfsstream" --mib "${MIB:-512}" --kib "${KIB:-64}" --check "${CHECK:-0}" \
    --launder "${LAUNDER:-0}" "$mount_dir" >>"$E4R_RUN/figures"
reclaim_figures
counts_end
umount "$mount_dir"
