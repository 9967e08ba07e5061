# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Records one workload from before mount until after sync. $NAME.*: the layout of traces/.
# From the host: NAME MOUNT KNOBS RUN (program and arguments) PRE (0/1: load all groups first).
start_trace
mount_disk "$MOUNT"
if [ "$WARM" = 1 ]; then cat "$(mb_proc)/mb_groups" >/dev/null; fi
if [ -n "${SETTLE:-}" ]; then sleep "$SETTLE"; fi
# shellcheck disable=SC2086 # words by intention
"$BIN/"$RUN "$FS" >"$E4R_RUN/figures"
sync
cat "$(mb_proc)/mb_groups" >"$NAME.mb_groups"
cat "$(mb_proc)/mb_stats" >"$NAME.mb_stats"
tunables >"$NAME.tunables"
save_trace "$NAME.trace"
umount "$FS"
