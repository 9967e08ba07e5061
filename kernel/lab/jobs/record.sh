# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Records a mounted, aged and busy file system.
# The host sets E4REPLAY, MOUNT, KNOBS, RUN (program and arguments), FOR (time), RECORD (options).
mount_disk "$MOUNT"
mkdir "$FS/old"
# shellcheck disable=SC2086 # word splitting is intended
"$BIN/"$RUN --seed 1 "$FS/old" >/dev/null
(
    for ((seed = 2; ; seed++)); do
        mkdir "$FS/new$seed"
        # shellcheck disable=SC2086
        "$BIN/"$RUN --seed $seed "$FS/new$seed" >/dev/null
        rm -rf "$FS/new$((seed - 1))"
    done
) &
busy=$!
sleep 0.5
# shellcheck disable=SC2086
"$E4REPLAY" record "$FS" -o "$E4R_RUN/record.e4c" --for "$FOR" --no-progress ${RECORD:-}
kill $busy 2>/dev/null || true
wait $busy || true
while pkill -x "${RUN%% *}" || pkill -x rm; do sleep 0.1; done
umount "$FS"
[ -z "$(ls /sys/kernel/tracing/instances)" ]
