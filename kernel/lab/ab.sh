#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Compares two kernels by running a job on each in turn: A B, B A, A B, ... Because the order alternates, a slow drift
# of the host's load affects both kernels equally.
#
# Usage: ab.sh JOB --base X --patched Y [-n N] [--target uml|uml-smp|qemu|arm64] [--variant V] [--cpus N]
#              [--image KIND] [--seed N] [--set NAME=VALUE]... [--set-base NAME=VALUE]...
#              [--set-patched NAME=VALUE]... [--append WORDS] [--below FIGURE=RATIO]... [-o FILE]
#   -n N    pairs of runs (default: 3); with 6 or more, the median has a confidence interval
#   --variant V            variant of both kernels (default: plain); lockstat measures waits for group locks
#   --cpus N               CPUs of the guest; only for uml-smp, qemu and arm64 (default: 2)
#   --append WORDS         more arguments for both kernels, such as time-travel=inf-cpu (uml)
#   --below FIGURE=RATIO   exit with status 3 unless the median ratio of FIGURE is below RATIO
#   -o FILE                writes every value to FILE, as "base|patched PAIR FIGURE VALUE" lines
#
# For each figure of the job, prints the median and range of each kernel. Also prints the median and the geometric mean
# of the pairs' ratios, both with a 95 % confidence interval (lib/compare.awk explains the intervals). If any run fails
# (see run.sh), the comparison fails.
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
variant=plain
raw=
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
    --variant) variant=$2 && shift ;;
    --cpus) CPUS=$2 && shift ;;
    -o) raw=$2 && shift ;;
    --image) IMAGE=$2 && shift ;;
    --seed) SEED=$2 && shift ;;
    --set) vars+=("$2") && shift ;;
    --set-base) base_vars+=("$2") && shift ;;
    --append) APPEND=$2 && shift ;;
    --below) limits+=("$2") && shift ;;
    --set-patched) patched_vars+=("$2") && shift ;;
    -*) usage ;;
    *) [ -z "$job" ] || usage
        job=$1 ;;
    esac
    shift
done
{ [ -n "$job" ] && [ -n "$base" ] && [ -n "$patched" ]; } || usage
[[ $pairs =~ ^[1-9][0-9]*$ ]] || die "'$pairs' is not a number of pairs"
check_cpus "$target"
build_programs "$target"
build_project make_fragmented
collected=$(mktemp "$E4R_LAB/ab.XXXXXX")
trap 'rm -f "$collected"' EXIT

# one SIDE PAIR TREE VARS...: runs the job once and collects its figures as "SIDE PAIR NAME VALUE" lines.
one() {
    local side=$1 pair=$2 tree=$3 run
    shift 3
    run=$(run_job "$tree" "$target" "$variant" "$job" "$@")
    [ -s "$run/figures" ] || die "job '$job' left no figures ($run)"
    sed "s/^/$side $pair /" "$run/figures" >>"$collected"
    rm -rf "$run"
}

base_run() {
    one base "$1" "$base" "${vars[@]}" "${base_vars[@]}"
}
patched_run() {
    one patched "$1" "$patched" "${vars[@]}" "${patched_vars[@]}"
}

for ((pair = 1; pair <= pairs; ++pair)); do
    note "pair $pair of $pairs"
    if [ $((pair % 2)) = 1 ]; then
        base_run "$pair"
        patched_run "$pair"
    else
        patched_run "$pair"
        base_run "$pair"
    fi
done
if [ -n "$raw" ]; then cp "$collected" "$raw"; fi
awk -v A="$base" -v B="$patched" -v limits="${limits[*]}" -f "$lab_dir/lib/compare.awk" "$collected"
