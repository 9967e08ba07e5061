# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Records a file system that is mounted, aged and being written to.
# From the host: E4REPLAY, MOUNT, KNOBS, RUN (program and arguments), FOR (time), RECORD (options).
mount_disk "$MOUNT"
mkdir "$FS/old" "$FS/new"
# shellcheck disable=SC2086 # words by intention
"$BIN/"$RUN --seed 1 "$FS/old" >/dev/null
# shellcheck disable=SC2086
"$BIN/"$RUN --seed 2 "$FS/new" >/dev/null &
busy=$!
sleep 0.5
# shellcheck disable=SC2086
"$E4REPLAY" record "$FS" -o "$E4R_RUN/record.e4c" --for "$FOR" --no-progress ${RECORD:-}
kill $busy 2>/dev/null || true
wait $busy || true
umount "$FS"
[ -z "$(ls /sys/kernel/tracing/instances)" ]
