#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Ages two file systems with the same operations: one in the model (`e4replay age`), the other mounted in a guest.
# Afterwards, both must have the same free blocks.
#
# Usage: age.sh [--kernel base|SERIES] [-p POLICY] [--profile P]... [--seed N]... [--until 'WHAT N, ...']
#               [--size SIZE] [--files N] [--into FILE]
#   -p POLICY    the policy that models the kernel (default: legacy)
#   --profile P  default: all five
#   --until ...  default: 'utilisation 0.8, turnover 3x'
#   --size SIZE  default: 512M
#   --files N    maximum number of files that exist at a time (default: 12000)
#   --into FILE  also puts the table between the lines "<!-- age TREE -->" and "<!-- end -->"
#
# Exit status 3 if the free blocks differ.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"

tree=base
policy=legacy
profiles=()
seeds=()
until='utilisation 0.8, turnover 3x'
size=512M
files=12000
into=
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    -p) policy=$2 && shift ;;
    --profile) profiles+=("$2") && shift ;;
    --seed) seeds+=("$2") && shift ;;
    --until) until=$2 && shift ;;
    --size) size=$2 && shift ;;
    --files) files=$2 && shift ;;
    --into) into=$2 && shift ;;
    *) usage ;;
    esac
    shift
done
[ ${#profiles[@]} -gt 0 ] || profiles=(agrawal douceur meyer wang-os wang-lanl)
[ ${#seeds[@]} -gt 0 ] || seeds=(1)
need jq dumpe2fs
build_programs
build_project e4replay
e4replay=$(project_build)/tools/e4replay
dirs=16

# free_blocks IMAGE: prints the free blocks of each group, as dumpe2fs prints them.
free_blocks() {
    dumpe2fs "$1" 2>/dev/null | sed -n 's/^  Free blocks: //p'
}

# guest_step RUN NAME=VALUE...: runs the job "age" in a guest, on the disk of RUN, with these variables.
guest_step() {
    local run=$1
    shift
    DISKS=("$run/disk")
    VARS=("DIRS=$dirs" "$@")
    TIMEOUT=900
    guest "$run" "$tree" uml plain "$lab_dir/jobs/age.sh"
}

# age PROFILE SEED: ages both file systems and prints a line of the table. Returns 3 if something differs.
age() {
    local run same groups
    run=$(new_run "age-$1")
    truncate -s "$size" "$run/disk"
    mke2fs -q -t ext4 -J size=64 -E lazy_itable_init=0 -N $((files + 100)) "$run/disk"
    guest_step "$run" STEP=prepare "FILES=$files"
    "$e4replay" age "$run/disk" -o "$run/model" --profile "$1" --seed "$2" --until "$until" \
        -p "$policy" --writing nodelalloc --slots "$run/slots" --write-operations "$run/script" \
        --json "$run/aged.json" --no-progress >/dev/null
    guest_step "$run" STEP=run "SCRIPT=$run/script"
    free_blocks "$run/disk" >"$run/kernel.free"
    free_blocks "$run/model" >"$run/model.free"
    groups=$(wc -l <"$run/kernel.free")
    same=$(paste -d'|' "$run/kernel.free" "$run/model.free" | awk -F'|' '$1 == $2' | wc -l)
    jq -r --arg profile "$1" --arg seed "$2" --arg same "$same of $groups" \
        --arg real "$(e2freefrag "$run/disk" | sed -n 's/^Num. free extent: *//p')" '
        [$profile, $seed, .age.writes + .age.appends + .age.removals, .age.requests,
         (.age.utilisation * 1000 | floor / 10), .files.extents, $real, .aged.count, $same] |
        "| " + (map(tostring) | join(" | ")) + " |"' "$run/aged.json"
    if [ "$same" != "$groups" ]; then
        echo "age: parted: $run" >&2
        return 3
    fi
    rm -rf "$run"
}

table() {
    local profile seed status worst=0
    echo "| profile | seed | operations | requests | in use, % | extents of files | free extents, kernel | model | groups equal to the block |"
    echo "|---|---|---|---|---|---|---|---|---|"
    for profile in "${profiles[@]}"; do
        for seed in "${seeds[@]}"; do
            status=0
            age "$profile" "$seed" || status=$?
            if [ $status -gt $worst ]; then worst=$status; fi
        done
    done
    return $worst
}

lines=$(mktemp "$E4R_LAB/age.XXXXXX")
trap 'rm -f "$lines"' EXIT
worst=0
table | tee "$lines" || worst=${PIPESTATUS[0]}
if [ -n "$into" ]; then put_table "$into" "<!-- age $tree -->" "$lines"; fi
exit "$worst"
