#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the figures of docs/studies/full.md: programs that keep a file system almost full for a year, under the
# policies of several kernels.
#   full.sh [--programs "P..."] [--full "PERCENT..."] [--policies "POLICY..."] [--days "N..."] [--variations]
#           [--size SIZE] [--seed N] [BUILD]
# Prints a tab-separated table. Requests, groups considered and extents scanned are per GiB that was written. P: ring,
# torrents, database (full.py). --variations: tunables, fallocate and bigalloc, each alone, at the last PERCENT and N.
# BUILD: default build/release. E4REPLAY names another program.
# Takes a quarter of an hour on an idle machine, and --variations as long again.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs='ring torrents database' full='90 95 98' days=365 size=64G seed=1 variations='' build=build/release
policies='linux-5.4 linux-5.15 legacy linux-6.8 linux-6.12.77 linux-7.3'
while [ $# -gt 0 ]; do
    case $1 in
    --programs) programs=$2 && shift ;;
    --full) full=$2 && shift ;;
    --policies) policies=$2 && shift ;;
    --days) days=$2 && shift ;;
    --size) size=$2 && shift ;;
    --seed) seed=$2 && shift ;;
    --variations) variations=yes ;;
    -*) sed -n 's/^#   full/usage: full/p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done
e4replay=$(realpath "${E4REPLAY:-$build/tools/e4replay}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# start NAME [OPTION...]: makes a file system without blocks reserved for root, by mke2fs's options.
start() {
    local name=$1
    shift
    truncate -s "$size" "$work/$name"
    mke2fs -q -F -t ext4 -m 0 -E nodiscard,lazy_itable_init=1 "$@" "$work/$name"
}

# operations PROGRAM PERCENT DAYS START [OPTION...]: what the program does in that time.
operations() {
    local program=$1 percent=$2 days=$3 image=$4 room
    shift 4
    room=$(dumpe2fs -h "$work/$image" 2>/dev/null | awk -F: -v percent="$percent" '
        /^Block count/ { blocks = $2 } /^Free blocks/ { free = $2 } /^Block size/ { size = $2 }
        END { printf "%.0f", (blocks * percent / 100 - (blocks - free)) * size }')
    docs/studies/full.py "$program" "$room" --days "$days" --seed "$seed" "$@" >"$work/operations"
}

# run PROGRAM PERCENT DAYS VARIATION POLICY START [OPTION...]: prints a row. Recorders keep a directory a camera, spread
# over the disk. The other programs keep all files in one directory.
run() {
    local program=$1 percent=$2 days=$3 variation=$4 policy=$5 image=$6 slots=()
    shift 6
    [ "$program" = ring ] || slots=(--slots "$work/slots")
    "$e4replay" age "$work/$image" -o "$work/aged" --operations "$work/operations" -p "$policy" "${slots[@]}" "$@" \
        --json - --no-progress 2>"$work/errors" |
        jq -r --arg program "$program" --arg percent "$percent" --arg days "$days" --arg variation "$variation" '
            [$program, $percent, $days, $variation, .age.policy, .age.requests / (.age.bytes_written / 1073741824),
             (.age.groups_considered, .age.extents_scanned) / (.age.bytes_written / 1073741824),
             .files.extents / .files.count, .files.extents / .files.blocks * 262144, .aged.count, .aged.avg_kb,
             .aged.whole_mib, .age.failed, .age.utilisation * 100] |
            map(if type == "number" then . * 1000 | round / 1000 else . end) | @tsv' ||
        { cat "$work/errors" >&2 && return 1; }
}

# vary PROGRAM PERCENT DAYS: one thing after the other is not as usual.
vary() {
    local program=$1 percent=$2 days=$3 policy setting ahead
    operations "$program" "$percent" "$days" plain
    for policy in $policies; do
        run "$program" "$percent" "$days" - "$policy" plain
        for setting in mb_max_to_scan=50 mb_max_to_scan=1000 mb_min_to_scan=2 mb_min_to_scan=100; do
            run "$program" "$percent" "$days" "$setting" "$policy" plain --set "$setting"
        done
    done
    for ahead in 1M 16M 64M; do
        operations "$program" "$percent" "$days" plain --fallocate "$(numfmt --from=iec $ahead)"
        # Downloads ask for the whole file.
        if [ "$program" = torrents ]; then ahead=whole; fi
        for policy in $policies; do
            run "$program" "$percent" "$days" "fallocate $ahead" "$policy" plain
        done
        if [ $ahead = whole ]; then break; fi
    done
    operations "$program" "$percent" "$days" clusters
    for policy in $policies; do run "$program" "$percent" "$days" "bigalloc 64K" "$policy" clusters; done
}

start plain
start clusters -O bigalloc -C 65536
seq 13 4000 >"$work/slots"
printf 'program\tfull, %%\tdays\tvariation\tpolicy\trequests\tgroups considered\textents scanned\textents per file'
printf '\textents per GiB of files\tfree extents\taverage free extent, KB\twhole MiB free\tfailed\tin use, %%\n'
for program in $programs; do
    if [ -n "$variations" ]; then
        vary "$program" "${full##* }" "${days##* }"
        continue
    fi
    for percent in $full; do
        for time in $days; do
            operations "$program" "$percent" "$time" plain
            for policy in $policies; do run "$program" "$percent" "$time" - "$policy" plain; done
        done
    done
done
