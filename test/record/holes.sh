#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Punches holes to age a file system that this machine's own kernel has mounted, with the operations that `age --profile
# punch` draws. Compares its free space with the model's.
#   holes.sh E4REPLAY
# Runs with blocks of 4 KiB, and with bigalloc. Prints histograms. Fails if kernel and model differ by more than a tenth
# in their free extents.
set -euo pipefail
player=$(realpath "$(dirname "$0")/player.py")
# shellcheck source=test/record/loop.sh
. "$(dirname "${BASH_SOURCE[0]}")/loop.sh"
command -v python3 >/dev/null || skip "no python3"
choose_policy

# free_extents IMAGE: prints the length of each free extent in KiB, from the free blocks that dumpe2fs lists.
# (e2freefrag prints wrong numbers for bigalloc.) dumpe2fs names a cluster by its first block.
free_extents() {
    local cluster
    cluster=$(dumpe2fs -h "$1" 2>/dev/null | sed -n 's/^Cluster size: *//p')
    dumpe2fs "$1" 2>/dev/null | sed -n 's/^  Free blocks: //p' | tr ',' '\n' | tr -d ' ' |
        awk -F- -v cluster=$((${cluster:-4096} / 4096)) '
            /[0-9]/ {
                if ($1 != end) { if (end) print (end - first) * 4; first = $1 }
                end = $NF + cluster
            }
            END { if (end) print (end - first) * 4 }'
}
histogram() {
    free_extents "$1" | awk -v name="$2" '
        { size = 2 ^ int(log($1) / log(2) + 1e-9); n[size]++; space[size] += $1; all++; sum += $1 }
        END { for (size = 1; size <= sum; size *= 2) if (n[size])
                  printf "%8d KiB and more: %6d extents, %5.2f %%\n", size, n[size], 100 * space[size] / sum
              printf "%s: %d free extents, %d KiB on average\n", name, all, sum / all }'
}

# compare NAME [OPTION...]: compares kernel and model on a file system that mke2fs makes with these options
compare() {
    local name=$1 a b
    shift
    mke2fs -q -F -t ext4 -E lazy_itable_init=0 "$@" "$loop"
    mount "$loop" "$fs"
    python3 "$player" "$fs" 600 >slots
    umount "$fs"
    cp --sparse=always disk start.img
    "$e4replay" age start.img --profile punch --slots slots -p $policy --until 'utilisation 0.9, turnover 8x' \
        --write-operations script --no-progress -o model.img >model.txt
    cat model.txt
    mount "$loop" "$fs"
    cat "/proc/fs/ext4/${loop#/dev/}/mb_groups" >/dev/null
    python3 "$player" "$fs" - "$PWD/script"
    umount "$fs"
    histogram disk "kernel $(uname -r), the same operations"
    histogram model.img "model, $policy"
    a=$(free_extents disk | wc -l) b=$(free_extents model.img | wc -l)
    awk -v a="$a" -v b="$b" 'BEGIN { exit !(a > 0 && b > 0 && a < b * 1.1 && b < a * 1.1) }' ||
        bad "$name: $a free extents in the kernel, $b in the model"
    ok "$name: $a and $b free extents"
}
umount "$fs"
compare "4 KiB"
compare bigalloc -O bigalloc -C 65536
