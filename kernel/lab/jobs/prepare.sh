# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Ages a start image: runs the workload $RUN without recording it.
mount_disk "$MOUNT"
manifest=()
if [ "${RUN%% *}" = churn ]; then manifest=(--manifest "$E4R_RUN/manifest"); fi
# shellcheck disable=SC2086 # word splitting is intended
"$BIN/"$RUN "${manifest[@]}" "$FS"
sync
umount "$FS"
