#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Replays every bundled capture on every test image of e2fsprogs, although no capture was taken on these images. Also
# uses the beginnings of two captures that are folded into each image (fold.pl): their numbers are valid for the image,
# but they do not belong to it. Runs replay with all policies together, and verify with each policy. A run must end with
# status 0, 1 or 3, without a signal or a hang, and must use less than 1 GiB of memory. With status 1, it must print one
# line with the reason. Status 2 would mean that this script uses wrong options.
#   pairs.sh [--sample N] [--seed S] [BUILD]     default: all images, build/release
# --sample uses N of the images, drawn with the seed, and runs verify with a fifth of the policies in turn. The seed is
# any text. The default is the day of the year, so that runs on many days use all images. If BUILD has address
# sanitizer, memory is not limited.
set -euo pipefail
cd "$(dirname "$0")/../.."
sample=
seed=$(date +%-j)
while [[ ${1:-} == --* ]]; do
    case $1 in
    --sample) sample=$2 ;;
    --seed) seed=$2 ;;
    *) echo "usage: pairs.sh [--sample N] [--seed S] [BUILD]" >&2; exit 2 ;;
    esac
    shift 2
done
build=$(realpath "${1:-build/release}")
e4replay=$build/tools/e4replay
[ -x "$e4replay" ] || { echo "pairs.sh: no $e4replay: build e4replay first" >&2; exit 1; }
test/e2fsprogs/fetch.sh --source bookworm "$build/e2fsprogs-bookworm"
test/support/unpack_captures.sh "$e4replay" "$build/captures"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

limit=(bash -c 'ulimit -v 1048576; exec "$@"' --)
if grep -qa __asan_init "$e4replay"; then limit=(); fi
mapfile -t policies < <("$e4replay" policies | awk '/^$/ { exit } /^[a-z]/ { print $1 }')
mapfile -t images < <(find "$build/e2fsprogs-bookworm/src/tests" -name image.gz | sort)
total=${#images[@]}
if [ -n "$sample" ]; then
    mapfile -t images < <(printf '%s\n' "${images[@]}" |
        shuf -n "$sample" --random-source=<(yes "pairs $seed"))
fi

# Convert the traces to .e4t: each trace is read a hundred times, and reading text would take most of the time.
traces=()
for trace in "$build"/captures/*.{trace,e4t}.zst; do
    name=$(basename "$trace" .zst)
    name=${name%.*}
    "$e4replay" trace convert "$trace" "$work/$name.e4t" >/dev/null
    cp "$build/captures/$name.tunables" "$work/"
    traces+=("$work/$name.e4t")
done
if [ ${#policies[@]} -lt 3 ] || [ ${#images[@]} -eq 0 ] || [ "$total" -lt 200 ] ||
    [ ${#traces[@]} -lt 6 ]; then
    echo "pairs.sh: only ${#policies[@]} policies, $total images, ${#traces[@]} traces" >&2
    exit 1
fi

# The captures to fold, with the start image that the MANIFEST names.
declare -A start_image=()
for name in churn-1k-nodelalloc churn-4k; do
    start_image[$name]=$(awk -v name="$name" '$1 == "capture" && $2 == name { print $3 }' \
        traces/MANIFEST)
    "$e4replay" trace convert "$work/$name.e4t" "$work/whole.txt" >/dev/null
    head -n 4000 "$work/whole.txt" >"$work/$name.head"
done
rm "$work/whole.txt"

declare -A seen=()
bad=0
runs=0
turn=0

# attempt COMMAND ARGUMENT...: checks one run against the limits.
attempt() {
    local status=0
    timeout --signal=KILL 300 "${limit[@]}" "$e4replay" "$@" --check --no-progress \
        >/dev/null 2>"$work/err" || status=$?
    runs=$((runs + 1))
    seen[$status]=$((${seen[$status]:-0} + 1))
    if [ $status = 2 ] || [ $status -gt 3 ] || { [ $status = 1 ] &&
        [ "$(grep -v ': warning: ' "$work/err" | grep -c '^e4replay: ')" != 1 ]; }; then
        bad=$((bad + 1))
        echo "pairs.sh: status $status: $*" >&2
        head -5 "$work/err" >&2
    fi
}

all=$(IFS=,; echo "${policies[*]}")
for image in "${images[@]}"; do
    name=$(basename "$(dirname "$image")")
    gzip -dc "$image" >"$work/$name.img"
    folded=()
    for trace in "${!start_image[@]}"; do
        test/e2fsprogs/fold.pl "$build/captures/${start_image[$trace]}.img" "$work/$name.img" \
            <"$work/$trace.head" >"$work/$trace.trace"
        folded+=("$work/$trace.trace")
    done
    for trace in "${traces[@]}" "${folded[@]}"; do
        attempt replay "$work/$name.img" "$trace" -p "$all" --force
        for policy in "${policies[@]}"; do
            turn=$((turn + 1))
            [ -z "$sample" ] || [ $((turn % 5)) = 0 ] || continue
            attempt verify "$work/$name.img" "$trace" -p "$policy"
        done
    done
    rm -f "$work/$name.img"
done
for status in "${!seen[@]}"; do echo "status $status: ${seen[$status]} runs"; done | sort
echo "${#images[@]} of $total images (seed $seed), ${#traces[@]} traces, ${#start_image[@]} folded," \
    "$runs runs, $bad outside the limits"
if [ "${seen[0]:-0}" = 0 ] || [ "${seen[3]:-0}" = 0 ]; then
    echo "pairs.sh: nothing was replayed (status 0), or nothing followed (3)" >&2
    exit 1
fi
[ $bad = 0 ]
