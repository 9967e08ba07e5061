# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Runs the operations of `e4replay age` on a mounted file system (kernel/lab/age.sh).
#   STEP=prepare   makes FILES empty files in DIRS directories, and writes their inode numbers to `slots`
#   STEP=run       loads every buddy, then runs SCRIPT with nodelalloc; only SCRIPT causes commits
# timeout: 900
if [ "$STEP" = prepare ]; then
    mount_disk noinit_itable
    "$BIN/aged" --prepare "$FILES" --dirs "$DIRS" "$FS" >"$E4R_RUN/slots"
else
    mount_disk nodelalloc,commit=30000,noinit_itable
    cat "$(mb_proc)/mb_groups" >/dev/null
    "$BIN/aged" --script "$SCRIPT" --dirs "$DIRS" --pid 0 "$FS" >>"$E4R_RUN/figures"
fi
umount "$FS"
