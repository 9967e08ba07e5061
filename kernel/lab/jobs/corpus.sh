# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Runs a program on the disk and records it. The host sets E4REPLAY, MOUNT (options), COMMAND (quoted words; the word
# RUN is replaced by the program's directory) and OUT (the capture).
mount_disk "$MOUNT"
mkdir "$FS/run"
sync -f "$FS"
eval "words=($COMMAND)"
for i in "${!words[@]}"; do
    [ "${words[i]}" != RUN ] || words[i]=$FS/run
done
"$E4REPLAY" record "$FS" -o "$E4R_RUN/record.e4c" --settle --no-progress -- "${words[@]}"
umount "$FS"
