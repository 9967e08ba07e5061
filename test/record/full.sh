#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the programs of docs/studies/full.md, which keep a file system almost full, on this machine's own kernel.
# Compares the extents of the files and the free extents with the extents that models leave.
#   full.sh E4REPLAY [PERCENT]    PERCENT: how full the programs keep the file system (default: 95)
# Prints a row for each program. Takes several minutes, and writes 20 GiB.
set -euo pipefail
study=$(realpath "$(dirname "$0")/../../docs/studies/full.py") player=$(realpath "$(dirname "$0")/player.py")
percent=${2:-95}
# shellcheck source=test/record/loop.sh
. "$(dirname "${BASH_SOURCE[0]}")/loop.sh"
choose_policy

echo '| program | | extents per GiB of files | free extents |'
umount "$fs"
for program in ring torrents database; do
    truncate -s 4G disk
    losetup -c "$loop"
    mke2fs -q -F -t ext4 -m 0 -E lazy_itable_init=0 "$loop"
    mount "$loop" "$fs"
    python3 "$player" "$fs" 1500 >slots
    sync
    room=$(stat -f -c '%b %f %S' "$fs" | awk -v percent="$percent" '{ printf "%.0f", ($2 - $1 * (1 - percent / 100)) * $3 }')
    umount "$fs"
    cp --sparse=always disk start.img
    "$study" $program "$room" --days 40 >operations
    mount "$loop" "$fs"
    python3 "$player" "$fs" - "$PWD/operations"
    sync
    (cd "$fs" && filefrag f* | awk '{ n += $2 } END { print n }') >extents
    blocks=$(cd "$fs" && stat -c %b f* | awk '{ n += $1 } END { print n / 2097152 }')
    umount "$fs"
    awk -v program=$program -v blocks="$blocks" -v free="$(e2freefrag disk | sed -n 's/^Num. free extent: *//p')" \
        -v kernel="$(uname -r)" '{ printf "| %s | Linux %s | %.0f | %d |\n", program, kernel, $1 / blocks, free }' extents
    "$e4replay" age start.img --operations operations --slots slots -p "$policy" -o aged --json - --no-progress |
        jq -r --arg program $program '"| \($program) | model, \(.age.policy) | " +
            "\(.files.extents / .files.blocks * 262144 | round) | \(.aged.count) |"'
done
