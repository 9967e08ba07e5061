# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Records one workload from before mount until after sync, into the files $NAME.* that kernel/lab/capture.sh describes.
# The host sets NAME, MOUNT, KNOBS, RUN (program and arguments) and PRE (1: load all groups first).
discards=
if [[ ,$MOUNT, == *,discard,* || $RUN == *--fitrim* ]]; then
    # The device completes a discard at once, so the thread that sends it does not wait.
    discards=1
    image=$DISK
    # shellcheck source=kernel/lab/guest/null_blk.sh
    . "$LAB/guest/null_blk.sh"
    make_null_blk size=$(($(blockdev --getsize64 "$image") >> 20)) blocksize=512 discard=1 queue_mode=0 \
        irqmode=0
    dd if="$image" of="$DISK" bs=1M conv=sparse status=none
    start_block_trace
fi
start_trace
mount_disk "$MOUNT"
if [ "$WARM" = 1 ]; then cat "$(mb_proc)/mb_groups" >/dev/null; fi
if [ -n "${SETTLE:-}" ]; then sleep "$SETTLE"; fi
# shellcheck disable=SC2086 # word splitting is intended
"$BIN/"$RUN "$FS" >"$E4R_RUN/figures"
sync
cat "$(mb_proc)/mb_groups" >"$NAME.mb_groups"
if [ -e "$(mb_proc)/mb_stats" ]; then cat "$(mb_proc)/mb_stats" >"$NAME.mb_stats"; fi
tunables >"$NAME.tunables"
save_trace "$NAME.trace"
if [ -n "$discards" ]; then save_block_discards "$NAME.discards"; fi
umount "$FS"
if [ -n "$discards" ]; then dd if="$DISK" of="$image" bs=1M status=none; fi
