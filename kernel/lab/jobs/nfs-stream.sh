# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: one file written from beginning to end through NFS, to a server in a guest of its own: its
# speed, COMMITs and WRITEs, calls of write() over 100 ms, the fsync at the end, the most memory that
# was dirty or under writeback.
#   MIB=512 KIB=64       how much, by write() calls of how much
#   LAUNDER=16           drop clean pages more than so many MiB behind the writer; 0: do not
#   SYSCTLS="vm.dirty_bytes=1048576 ..."    of the client
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
