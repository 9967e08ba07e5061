# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: how long the extent status shrinker holds the lock of the list of inodes, and how long other tasks wait for
# this lock. The first file on the list has many entries to reclaim. After it come FILES inodes that the shrinker skips
# in each call. Needs two CPUs (--target qemu or uml-smp). Most figures need --variant lockstat. In User Mode Linux,
# the times of lock_stat need a kernel with kernel/lab/experiments/um-sched-clock.patch.
#   FILES=8000      precached inodes
#   BLOCKS=32768    fragments of the first file
# image: plain-4g
# mem: 1500M
# timeout: 900
# shellcheck source=kernel/lab/guest/es.sh
. "$LAB/guest/es.sh"
mount_disk "${MOUNT:-noinit_itable}"
mkdir "$FS/many" "$FS/held"
"$BIN/delayed" --blocks "${BLOCKS:-32768}" "$FS/many" >/dev/null
sync
start_es_trace
start_lock_stat
"$BIN/precached" --files "${FILES:-8000}" "$FS/held" >>"$E4R_RUN/figures"
es_lock_figures lock '&sbi->s_es_lock'
es_figures
umount "$FS"
e2fsck -fn "$DISK"
