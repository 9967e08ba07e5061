#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Compares two kernels by running a job on each in turn: A, B, A, B, ...
#
# Usage: ab.sh JOB --base X --patched Y [-n N] [--target uml|qemu] [--image KIND] [--seed N]
#              [--set NAME=VALUE]... [--set-base NAME=VALUE]... [--set-patched NAME=VALUE]...
#              [--below FIGURE=RATIO]...
#   -n N    pairs of runs (default: 3)
#   --below FIGURE=RATIO   exit status 3 unless the median ratio of that figure is below it
#
# Prints, for each figure of the job, median and range of both and the median of the ratios pair by
# pair. Any run that fails (see run.sh) fails the comparison.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
# shellcheck source=kernel/lab/lib/jobs.sh
source "$lab_dir/lib/jobs.sh"
pairs=3
target=uml
job=
base=
patched=
vars=()
base_vars=()
patched_vars=()
limits=()
while [ $# -gt 0 ]; do
    case $1 in
    --base) base=$2 && shift ;;
    --patched) patched=$2 && shift ;;
    -n) pairs=$2 && shift ;;
    --target) target=$2 && shift ;;
    --image) IMAGE=$2 && shift ;;
    --seed) SEED=$2 && shift ;;
    --set) vars+=("$2") && shift ;;
    --set-base) base_vars+=("$2") && shift ;;
    --below) limits+=("$2") && shift ;;
    --set-patched) patched_vars+=("$2") && shift ;;
    -*) usage ;;
    *) [ -z "$job" ] || usage
        job=$1 ;;
    esac
    shift
done
{ [ -n "$job" ] && [ -n "$base" ] && [ -n "$patched" ]; } || usage
build_programs
build_project make_fragmented
collected=$(mktemp "$E4R_LAB/ab.XXXXXX")
trap 'rm -f "$collected"' EXIT

# one SIDE PAIR TREE VARS...: "SIDE PAIR NAME VALUE" lines.
one() {
    local side=$1 pair=$2 tree=$3 run
    shift 3
    run=$(run_job "$tree" "$target" plain "$job" "$@")
    [ -s "$run/figures" ] || die "job '$job' left no figures ($run)"
    sed "s/^/$side $pair /" "$run/figures" >>"$collected"
    rm -rf "$run"
}

for ((pair = 1; pair <= pairs; ++pair)); do
    note "pair $pair of $pairs"
    one base "$pair" "$base" "${vars[@]}" "${base_vars[@]}"
    one patched "$pair" "$patched" "${vars[@]}" "${patched_vars[@]}"
done

awk -v A="$base" -v B="$patched" -v limits="${limits[*]}" '
function median(list, n,   i, j, t) {
    for (i = 2; i <= n; ++i)
        for (j = i; j > 1 && list[j] < list[j - 1]; --j) {
            t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
        }
    lowest = list[1]; highest = list[n]
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function number(x) { return x == int(x) ? sprintf("%d", x) : sprintf("%.3f", x) }
function described(side, name,   n, pair, list) {
    n = 0
    for (pair = 1; pair <= pairs; ++pair)
        if ((side, pair, name) in value) list[++n] = value[side, pair, name]
    if (n == 0) return "-"
    mid = median(list, n)
    return number(mid) " (" number(lowest) "-" number(highest) ")"
}
{
    value[$1, $2, $3] = $4 + 0
    if ($2 > pairs) pairs = $2
    if (!($3 in seen)) { seen[$3] = 1; names[++count] = $3 }
}
END {
    printf "%-28s %34s %34s %10s\n", "figure", A, B, "ratio"
    for (i = 1; i <= count; ++i) {
        name = names[i]; n = 0
        for (pair = 1; pair <= pairs; ++pair)
            if (((("base" SUBSEP pair SUBSEP name)) in value) && value["base", pair, name] != 0 &&
                ((("patched" SUBSEP pair SUBSEP name)) in value))
                ratio[++n] = value["patched", pair, name] / value["base", pair, name]
        of[name] = n ? median(ratio, n) : "-"
        counted[name] = n
        printf "%-28s %34s %34s %10s\n", name, described("base", name), described("patched", name),
            n ? sprintf("%.3f", of[name]) : "-"
    }
    n = split(limits, limit, " ")
    for (i = 1; i <= n; ++i) {
        split(limit[i], part, "=")
        # A pair without a ratio (no figure, or nothing to divide by) is no pair below the limit.
        if (counted[part[1]] + 0 < pairs || pairs + 0 == 0 || of[part[1]] >= part[2] + 0) {
            printf "ab: %s: the ratio is not below %s\n", part[1], part[2] >"/dev/stderr"
            failed = 3
        }
    }
    exit failed
}' "$collected"
