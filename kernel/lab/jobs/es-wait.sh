# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: how long the extent status shrinker holds the lock of the list of inodes, and how long others wait for it.
# The first file has many entries to reclaim. FILES inodes, which the shrinker skips each time, follow it on the list.
# Needs two CPUs (--target qemu); --variant lockstat gives most figures.
#   FILES=8000      precached inodes
#   BLOCKS=32768    fragments of the one file
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
es_lock_figures
es_figures
umount "$FS"
e2fsck -fn "$DISK"
