#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs a job on one kernel with each of several values of a variable in turn. Shows the median and range of the job's
# figures for each value.
#
# Usage: sweep.sh JOB --set NAME=VALUE... --values "A B ..." [-n N] [--kernel K] [--variant V]
#                 [--figures "F G ..."] [--svg FILE] [-o FILE]
#        sweep.sh --from FILE [--figures "F G ..."] [--svg FILE] [--across NAME]
#   --set NAME=...@...   @ is replaced by the value; settings without @ work as for run.sh
#   -n N        runs with each value (default: 3); each turn runs all values
#   --figures   the figures to show (default: all)
#   --svg FILE  draws a panel for each of these figures
#   --across    label of the values in the drawing (default: the name before @ in --set)
#   -o FILE     writes every number as a "VALUE TURN FIGURE NUMBER" line; --from reads such a file
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
# shellcheck source=kernel/lab/lib/jobs.sh
source "$lab_dir/lib/jobs.sh"
tree=base
variant=
job=
values=
turns=3
figures=
svg=
across=
raw=
from=
vars=()
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    --variant) variant=$2 && shift ;;
    --values) values=$2 && shift ;;
    --figures) figures=$2 && shift ;;
    --svg) svg=$2 && shift ;;
    --across) across=$2 && shift ;;
    --from) from=$2 && shift ;;
    --set) vars+=("$2") && shift ;;
    -n) turns=$2 && shift ;;
    -o) raw=$2 && shift ;;
    -*) usage ;;
    *) [ -z "$job" ] || usage
        job=$1 ;;
    esac
    shift
done
collected=$(mktemp "$E4R_LAB/sweep.XXXXXX")
trap 'rm -f "$collected"' EXIT
if [ -n "$from" ]; then
    [ -z "$job" ] || usage
    cp "$from" "$collected"
else
    { [ -n "$job" ] && [ -n "$values" ]; } || usage
    [[ $turns =~ ^[1-9][0-9]*$ ]] || die "'$turns' is not a number of runs"
    [[ "${vars[*]}" == *@* ]] || die "no --set with a @ for the value"
    build_programs
    for ((turn = 1; turn <= turns; ++turn)); do
        for value in $values; do
            note "turn $turn of $turns, $value"
            run=$(run_job "$tree" uml "$variant" "$job" "${vars[@]//@/$value}")
            [ -s "$run/figures" ] || die "job '$job' left no figures ($run)"
            sed "s/^/$value $turn /" "$run/figures" >>"$collected"
            rm -rf "$run"
        done
    done
fi
if [ -n "$raw" ]; then cp "$collected" "$raw"; fi
for var in "${vars[@]}"; do
    [[ -z $across && $var == *@* ]] || continue
    across=${var%%=@*} across=${across##*[= ]}
done
awk -v wanted="$figures" -v svg="$svg" -v across="$across" -f "$lab_dir/lib/sweep.awk" "$collected"
